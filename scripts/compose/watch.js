import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Asks until there is an answer. What is asked here (a process table, a page) tells no events.
 *
 * @template Answer
 * @param {string} what for the message when it does not come
 * @param {number} seconds
 * @param {() => Answer | undefined | Promise<Answer | undefined>} ask
 * @returns {Promise<Answer>}
 */
export async function until(what, seconds, ask) {
  for (let left = seconds * 5; left > 0; left -= 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await delay(200);
  }
  throw new Error(`${what} did not happen within ${seconds} s.`);
}

/** The console of the stack, as a program uses it. @param {{ url: string, token: string }} options */
export function openConsole({ url, token }) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const api = async (path, options = {}) => {
    const response = await fetch(`${url}/api${path}`, { headers, ...options });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  return {
    /** The status of a probe; 0 while nobody listens. @param {string} path */
    probe: (path) =>
      fetch(url + path).then(
        ({ status }) => status,
        () => 0,
      ),
    /** Says it in a new thread. @param {string} text @returns {Promise<string>} the thread's id */
    async say(text) {
      const id = randomBytes(8).toString("hex");
      const body = JSON.stringify({ text, key: randomBytes(8).toString("hex") });
      await api(`/threads/${id}/messages`, { method: "POST", body });
      return id;
    },
    /** Resolves when the thread's turn has ended, with how. @param {string} id @param {number} seconds */
    ended: (id, seconds) =>
      until(`The end of the turn in ${id}`, seconds, async () => {
        const thread = (await api("/threads").catch(() => [])).find((one) => one.id === id);
        return ["answered", "failed", "stopped"].includes(thread?.state) ? thread.state : undefined;
      }),
    /** A file of the thread's workspace. @param {string} id @param {string} path */
    async file(id, path) {
      const response = await fetch(`${url}/api/threads/${id}/file?path=${path}`, { headers });
      return response.ok ? await response.text() : `(${response.status} ${await response.text()})`;
    },
  };
}

/** The process that runs exactly this command. @param {string} command @param {number} seconds */
export function processOf(command, seconds) {
  return until(`A process "${command}"`, seconds, () => {
    const wanted = `${command.replaceAll(" ", "\0")}\0`;
    return readdirSync("/proc").find((pid) => /^\d+$/.test(pid) && read(pid, "cmdline") === wanted);
  });
}

/** The process and those that it descends from. @param {string} pid */
export function ancestry(pid) {
  const line = [];
  for (let one = pid; one && one !== "0"; one = /^PPid:\t(\d+)$/m.exec(read(one, "status"))?.[1] ?? "") {
    line.push(one);
  }
  return line;
}

function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return ""; // It ended in between.
  }
}
