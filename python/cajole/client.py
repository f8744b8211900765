"""A client of `cajole serve`, for programs that have no network of their own.

>>> from cajole.client import Client
>>> client = Client("http://127.0.0.1:8080")
>>> [record] = client.infer(["azbzazazazazazazazazbz"], model="transducer")
>>> record["status"], record["output"]
('satisfied', 'aaazbaaaaaaaaaaaaaaaaaaaaaaaazb')

Answers are what the server sends, as plain dicts; docs/serve.md in the repository describes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any, Literal, Optional, Union
from urllib.parse import urlencode, urlsplit

from cajole._native import CajoleError
from cajole._options import Engine, Served

if TYPE_CHECKING:
    from typing_extensions import Unpack  # in typing since Python 3.11

__all__ = ["Asked", "Client", "Record", "ServiceError"]

Record = dict[str, Any]
"""The server's record of one input, as `cajole infer` writes it."""

RulesLike = Union[str, Mapping[str, Any]]
"""Rules in TOML, or as a table."""


class Asked(Served, total=False):
    """Arguments of `infer`, `explain` and `compare`. The server decides what is None or left out."""

    model: Optional[str]
    rules: Optional[RulesLike]
    named_rules: Optional[str]
    """The name of a rule file on the server, instead of `rules`."""


class ServiceError(CajoleError):
    """The server refused a request, or could not be reached."""

    def __init__(self, message: str, status: Optional[int] = None, problem: Optional[Record] = None):
        super().__init__(message)
        self.status = status
        """The HTTP status; None if there was no answer."""
        self.problem = problem or {}
        """The problem document (RFC 9457), with `field` and `position` where they are known."""


class Client:
    """A server at `url`, with a bearer `token` if it wants one. Safe to share between threads: every
    request has a connection of its own."""

    def __init__(self, url: str, *, token: Optional[str] = None, timeout: float = 60.0):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServiceError(f"{url!r} is no address: it must begin with http:// or https://")
        self._address = parts
        self._token, self._timeout = token, timeout

    def infer(
        self,
        inputs: Sequence[Any],
        *,
        engine: Optional[Engine] = None,
        times: Optional[bool] = None,
        **asked: Unpack[Asked],
    ) -> list[Record]:
        """The records of these inputs, in order. Other arguments are those of `Asked`."""
        return self._records("/v1/infer", inputs, _given(engine=engine, times=times), asked)

    def explain(
        self,
        inputs: Sequence[Any],
        *,
        engine: Optional[Engine] = None,
        times: Optional[bool] = None,
        **asked: Unpack[Asked],
    ) -> list[Record]:
        """Records with the trace of every repair. Arguments are those of `infer`."""
        return self._records("/v1/explain", inputs, _given(engine=engine, times=times), asked)

    def compare(
        self,
        inputs: Sequence[Any],
        *,
        engines: Optional[Sequence[Engine]] = None,
        **asked: Unpack[Asked],
    ) -> Record:
        """Every engine's records for the same inputs, and what each costs."""
        body = _body(inputs, asked) | _given(engines=engines and list(engines))
        return self._post("/v1/compare", body)

    def lint(
        self,
        rules: RulesLike,
        *,
        model: Optional[str] = None,
        gold: Optional[Sequence[Any]] = None,
    ) -> Record:
        """What is wrong with rules; with right outputs, how often these violate them."""
        body = _given(model=model, rules=_rules(rules, None), gold=gold and list(gold))
        return self._post("/v1/lint", body)

    def stream(
        self,
        lines: Iterable[Any],
        *,
        model: Optional[str] = None,
        named_rules: Optional[str] = None,
        engine: Optional[Engine] = None,
        times: Optional[bool] = None,
        **options: Unpack[Served],
    ) -> Iterator[Record]:
        """The records of any number of inputs, 256 in flight at a time."""
        settings = _given(model=model, rules=named_rules, engine=engine, **_known(options, Served))
        if times is not None:
            settings["times"] = "true" if times else "false"
        path = "/v1/infer" + (f"?{urlencode(settings)}" if settings else "")
        sent = 0
        for lot in _lots(lines, 256):
            rows = [{"input": line} if isinstance(line, str) else line for line in lot]
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            answer = self._send("POST", path, text.encode(), "application/x-ndjson")
            for row in answer.read().splitlines():
                record: Record = json.loads(row)
                if "line" in record:
                    record["line"] += sent
                yield record
            sent += len(lot)

    def models(self) -> Record:
        """The models that the server has."""
        return self._get("/v1/models")

    def rules(self) -> Record:
        """The rules that requests may name."""
        return self._get("/v1/rules")

    def is_ready(self) -> bool:
        """Whether the server takes requests."""
        try:
            return self._send("GET", "/readyz").status == 200
        except ServiceError:
            return False

    def _records(
        self, path: str, inputs: Sequence[Any], own: Record, asked: Asked
    ) -> list[Record]:
        body = _body(inputs, asked) | own
        records: list[Record] = self._post(path, body)["records"]
        return records

    def _get(self, path: str) -> Record:
        return _document(self._send("GET", path))

    def _post(self, path: str, body: Record) -> Record:
        data = json.dumps(body, ensure_ascii=False).encode()
        return _document(self._send("POST", path, data, "application/json"))

    def _send(
        self,
        method: Literal["GET", "POST"],
        path: str,
        body: Optional[bytes] = None,
        kind: Optional[str] = None,
    ) -> HTTPResponse:
        at = self._address
        connect = HTTPSConnection if at.scheme == "https" else HTTPConnection
        connection = connect(at.hostname or "", at.port, timeout=self._timeout)
        headers = {"Content-Type": kind} if kind else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, at.path.rstrip("/") + path, body, headers)
            answer = connection.getresponse()
        except (OSError, HTTPException) as problem:
            connection.close()
            raise ServiceError(f"{at.geturl()} does not answer: {problem}") from problem
        if answer.status >= 400:
            raise _refusal(answer)
        return answer


def _given(**settings: Any) -> Record:
    return {name: value for name, value in settings.items() if value is not None}


def _known(given: Mapping[str, Any], names: type) -> Record:
    """Arguments, all of which are named there."""
    unknown = sorted(given.keys() - names.__annotations__.keys())
    if unknown:
        raise TypeError(f"there is no argument {unknown[0]!r}; known are {', '.join(names.__annotations__)}")
    return {**given}


def _rules(rules: Optional[RulesLike], named: Optional[str]) -> Optional[Record]:
    if rules is not None and named is not None:
        raise ServiceError("give either rules or named_rules")
    if named is not None:
        return {"name": named}
    if rules is None:
        return None
    return {"toml": rules} if isinstance(rules, str) else {"table": dict(rules)}


def _body(inputs: Sequence[Any], asked: Asked) -> Record:
    if isinstance(inputs, (str, bytes)):
        raise ServiceError("inputs is a list; for one input, give a list of one")
    body = _known(asked, Asked)
    rules = _rules(body.pop("rules", None), body.pop("named_rules", None))
    return _given(inputs=list(inputs), rules=rules, **body)


def _lots(lines: Iterable[Any], size: int) -> Iterator[list[Any]]:
    lot: list[Any] = []
    for line in lines:
        lot.append(line)
        if len(lot) == size:
            yield lot
            lot = []
    if lot:
        yield lot


def _document(answer: HTTPResponse) -> Record:
    document = json.loads(answer.read())
    if not isinstance(document, dict):
        raise ServiceError("the answer is no JSON object: is this a cajole server?", answer.status)
    return document


def _refusal(answer: HTTPResponse) -> ServiceError:
    text = answer.read()
    try:
        problem = json.loads(text)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    said = problem.get("detail") or problem.get("title") or answer.reason
    where = f"{problem['field']}: " if problem.get("field") else ""
    return ServiceError(f"{where}{said}", answer.status, problem)
