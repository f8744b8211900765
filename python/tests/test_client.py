"""The client of `cajole serve`, against a server of this machine."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import cajole
from cajole.client import Client, ServiceError

INPUTS = ["azbzazazazazazazazazbz", "az", "bzbz"]
THRICE = """arithmetic = 'count(out, "a") = 3 * count(in, "a")'"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    command = os.environ.get("CAJOLE") or shutil.which("cajole")
    if command is None:
        pytest.skip("no command line that serves: set CAJOLE to the binary")
    folder = tmp_path_factory.mktemp("served")
    (folder / "token").write_text("a-secret-of-some-length\n")
    (folder / "rules").mkdir()
    (folder / "rules" / "thrice.toml").write_text(THRICE)
    flags = ["--listen", "127.0.0.1:0", "--no-log", "--json"]
    flags += ["--token-file", str(folder / "token"), "--rules", str(folder / "rules")]
    child = subprocess.Popen([command, "serve", *flags], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    yield json.loads(child.stdout.readline())["listening"], "a-secret-of-some-length"
    child.terminate()
    child.wait(60)


@pytest.fixture
def client(server: tuple[str, str]) -> Client:
    return Client(server[0], token=server[1])


def test_records_are_those_of_a_model_in_this_process(client: Client) -> None:
    own = [r.to_dict() for r in cajole.load("transducer").infer(INPUTS, rules=cajole.Rules.from_toml(THRICE))]
    served = client.infer(INPUTS, model="transducer", rules=THRICE)
    named = client.infer(INPUTS, model="transducer", named_rules="thrice")
    assert [r["output"] for r in served] == [r["output"] for r in own]
    assert [r["status"] for r in served] == [r["status"] for r in own]
    assert [r["output"] for r in named] == [r["output"] for r in own]
    streamed = list(client.stream(INPUTS * 200, model="transducer", named_rules="thrice"))
    assert [r["output"] for r in streamed] == [r["output"] for r in own] * 200
    assert [r["line"] for r in streamed] == list(range(1, 601))


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "masked:width=3"},
        {"preset": "paper"},
        {"max_steps": 1},
        {"patience": 1},
        {"width": 8},
        {"deadline_ms": 0},
    ],
)
def test_streams_have_the_options_of_requests(client: Client, options: dict[str, Any]) -> None:
    answered = client.infer(INPUTS, times=False, **options)
    assert answered == list(client.stream(INPUTS, times=False, **options))
    assert answered != client.infer(INPUTS, times=False)


def test_traces_comparisons_and_rules(client: Client) -> None:
    [record] = client.explain(INPUTS[:1], model="transducer", rules=THRICE)
    assert record["trace"]
    compared = client.compare(INPUTS[:1], engines=["gbi", "beam"], model="transducer", rules=THRICE)
    assert {"gbi", "beam"} <= set(json.dumps(compared).replace('"', " ").split())
    assert client.lint(THRICE, model="transducer")
    assert any("transducer" in json.dumps(model) for model in client.models()["models"])
    assert "thrice" in json.dumps(client.rules())
    assert client.is_ready()


def test_refusals_say_why(client: Client, server: tuple[str, str]) -> None:
    with pytest.raises(ServiceError, match="no output symbol") as refused:
        client.infer(["az"], model="transducer", rules="""arithmetic = 'count(out, "q") = 1'""")
    assert refused.value.status == 422
    assert refused.value.problem["field"] == "/rules/toml"
    with pytest.raises(ServiceError) as refused:
        Client(server[0], token="wrong").models()
    assert refused.value.status == 401
    with pytest.raises(ServiceError, match="does not answer"):
        Client("http://127.0.0.1:9").models()
    assert not Client("http://127.0.0.1:9").is_ready()
    with pytest.raises(ServiceError, match="a list of one"):
        client.infer("az", model="transducer")
    with pytest.raises(ServiceError, match="either"):
        client.infer(["az"], rules=THRICE, named_rules="thrice")
    with pytest.raises(TypeError, match="no argument 'modle'; known are .*model, rules"):
        client.infer(["az"], modle="transducer")  # type: ignore[call-arg]
    with pytest.raises(ServiceError, match="no address"):
        Client("127.0.0.1:8080")
