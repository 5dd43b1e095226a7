import { compileCommandPattern } from "./policy/command-pattern.ts";
import { listCommands } from "./policy/shell-commands.ts";

const push = compileCommandPattern("git push*");

/** The first `git … push` of a script, as a rule about it would see it. */
export function findPush(script: string): string | undefined {
  return listCommands(script).commands.find(push.concerns)?.text;
}
