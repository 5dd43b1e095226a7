import { spawn } from "node:child_process";
import module from "node:module";
import { delimiter, dirname, join } from "node:path";
import { isatty } from "node:tty";
import { pathToFileURL } from "node:url";
import { root } from "./root.js";
import { SetupFailure } from "./speak.js";

/**
 * Runs `node` with these arguments in the repository's folder and passes signals on.
 *
 * @param {string} node
 * @param {readonly string[]} args
 * @returns {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} how it ended
 */
export function run(node, args) {
  const child = spawn(node, args, { cwd: root, env: environmentFor(node), stdio: "inherit" });

  /** @param {NodeJS.Signals} signal */
  const pass = (signal) => {
    // Ctrl-C in a terminal reaches the child by itself, and a second one may mean "at once".
    if (signal === "SIGINT" && [0, 1, 2].some(isatty)) return;
    child.kill(signal);
  };
  const watch = afterNpm(() => child.kill());
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, pass);

  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new SetupFailure(`${node} cannot be run: ${error.message}.`)));
    child.once("exit", (code, signal) => {
      clearInterval(watch);
      for (const name of signals) process.off(name, pass);
      resolve({ code, signal });
    });
  });
}

/**
 * Goes on as a program of this repository in this process, which `run` would do in another one.
 *
 * @param {string} file
 * @param {readonly string[]} args
 */
export async function become(file, args) {
  process.chdir(root);
  Object.assign(process.env, environmentFor(process.execPath));
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  const path = join(root, file);
  process.argv.splice(1, Infinity, path, ...args);
  afterNpm(() => process.kill(process.pid, "SIGTERM"))?.unref();
  await import(pathToFileURL(path).href);
}

/** @param {string} node */
function environmentFor(node) {
  return {
    NODE_COMPILE_CACHE: join(root, ".cache", "compile"),
    ...process.env,
    // So that a child that calls `node` gets the same one.
    PATH: [dirname(node), process.env.PATH].filter(Boolean).join(delimiter),
  };
}

/**
 * npm gives a SIGTERM to its shell, which dies of it and tells nobody. No event tells that a parent has gone.
 *
 * @param {() => void} act
 * @returns what looks for it; undefined where npm has not started this
 */
function afterNpm(act) {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    act();
  }, 500);
  return watch;
}
