import { createPolicy, type ToolRule } from "../../src/agent/policy/policy.ts";
import { type Effort, type Figure, type Findings, ms } from "../figure.ts";
import { interleave, spread, timed } from "../measure.ts";

/** How long the rules hold up the event loop for a command. */
export const rules: Figure = {
  id: "rules",
  title: "Judging a command",
  method:
    "One call of `bash` judged by five rules, in one go on the event loop: commands as agents write them, and texts of 128 KiB made of what costs the judge most (wrappers in wrappers, evaluators, finds, nested substitutions, words that feed a shell). The kinds are interleaved, and no text is judged twice.",
  measure,
};

const given: ToolRule[] = [
  { tool: "bash", command: "git push --force*", action: "deny" },
  { tool: "bash", command: "git push*", action: "ask" },
  { tool: "bash", command: "rm -rf *", action: "ask" },
  { tool: "bash", command: "kubectl delete*", action: "deny" },
  { tool: "bash", command: "npm publish*", action: "ask" },
];

const largest = 128 * 1_024;
const fill = (piece: string) => piece.repeat(Math.ceil(largest / piece.length)).slice(0, largest);
/** Each other than those before: what is known already is not judged again. */
function fillWithOthers(piece: (n: number) => string): string {
  let text = "";
  for (let n = 0; text.length < largest; n += 1) text += piece(n);
  return text.slice(0, largest);
}

const commands: Record<string, string> = {
  "one command": "npm test",
  "a pipeline in a folder": 'cd app && git -C . log --oneline | grep -i "fix" | head -20 > /tmp/log.txt',
  "a script of 40 lines": Array.from(
    { length: 40 },
    (_, line) => `if [ -f a${line} ]; then sudo env A=1 cp "a${line}" b/; else echo "no ${line}" >&2; fi`,
  ).join("\n"),
  "128 KiB of wrappers and evaluators": fill("xargs eval sudo ssh watch "),
  "128 KiB of every evaluator": fill("watch script flock su ssh parallel eval xargs sudo "),
  "128 KiB of finds": fill("find . -exec "),
  "128 KiB of substitutions": fill("$("),
  "128 KiB of words that feed a shell": `cat ${fill("a b ")} | sh`,
  "128 KiB of printf with brackets": fillWithOthers((n) => `printf 'a[$(x ${n})]'\n`),
  "128 KiB of aliases of git": fill("git -c alias.x=y x "),
  "128 KiB of shells with arguments": fillWithOthers((n) => `sh -c 'git $1' x y${n}\n`),
};

async function measure(effort: Effort): Promise<Findings> {
  const judge = createPolicy(given, "allow");
  let judged = 0;
  const bash = { name: "bash", effect: "write" } as const;
  const times = await interleave(
    Object.entries(commands).map(([name, command]) => ({
      name,
      // Another one each time: the latest are remembered.
      run: async () => [await timed(() => judge(bash, { command: `${command} ${String((judged += 1))}` }))],
    })),
    { rounds: effort.pick(5, 50), warmUp: effort.pick(1, 5) },
  );
  const spreads = [...times].map(([name, samples]) => ({ name, ...spread(samples) }));
  const slowest = Math.max(...spreads.map(({ p95 }) => p95));
  return {
    table: {
      columns: ["command", "median", "95 %", "slowest"],
      rows: spreads.map(({ name, p50, p95, max }) => [name, ms(p50), ms(p95), ms(max)]),
    },
    goals: [
      {
        what: "judging the costliest command, 95 %",
        value: slowest,
        measured: ms(slowest),
        aim: "< 50 ms",
        met: slowest < 50,
      },
    ],
  };
}
