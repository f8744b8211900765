/** Starts `cajole serve` at a free port of the loopback. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Server {
  address: string;
  stop(): Promise<void>;
}

const BINARY = process.env["CAJOLE"] ?? "../../../target/debug/cajole";

export async function serve(...flags: string[]): Promise<Server> {
  const child = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--no-log", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(`${BINARY} serve ended before it listened; build it with "cargo build -p cajole-cli"`);
  });
  const said = (async () => {
    for await (const line of createInterface(child.stdout)) {
      const address = /http:\/\/[^/]+/.exec(line)?.[0];
      if (address !== undefined) return address;
    }
    return ended;
  })();
  const address = await Promise.race([said, ended]);
  ended.catch(() => {});
  return {
    address,
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}
