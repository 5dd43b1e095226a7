import { mkdirSync, rmSync, statSync, utimes, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { say } from "./speak.js";

/** The holder says this often that it lives; one that has not for so long is dead. */
const beatMs = 1_000;
const deadAfterMs = 15_000;

/**
 * Does the work when no other process sets up the same repository. The lock is a file whose time its holder
 * keeps fresh: that works on every file system, and between containers that share a folder.
 *
 * @template Result
 * @param {string} root The folder of the repository.
 * @param {() => Promise<Result>} work
 */
export async function withLock(root, work) {
  const lock = join(root, ".cache", "setup.lock");
  for (let waited = false; !take(root, lock); waited = true) {
    if (!waited) say("waiting for another start that is setting up");
    await delay(beatMs / 4);
  }
  const beat = setInterval(() => utimes(lock, new Date(), new Date(), () => undefined), beatMs);
  const release = () => rmSync(lock, { force: true });
  // A signal ends this by way of `exit`, so that neither the lock nor npm stays behind.
  /** @param {NodeJS.Signals} signal */
  const leave = (signal) => process.exit(128 + constants.signals[signal]);
  const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
  for (const signal of signals) process.once(signal, leave);
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    for (const signal of signals) process.off(signal, leave);
    process.off("exit", release);
    release();
  }
}

/**
 * Whether the lock is this process's now.
 *
 * @param {string} root
 * @param {string} lock
 */
function take(root, lock) {
  try {
    mkdirSync(join(root, ".cache"), { recursive: true });
    const beatenAt = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - beatenAt > deadAfterMs) rmSync(lock, { force: true });
    writeFileSync(lock, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
