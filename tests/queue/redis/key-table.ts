import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

/** The keys that docs/architecture.md describes, and whether all of a kind expire by themselves. */
const rows = readFileSync(new URL("../../../docs/architecture.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => /^\| `\{?heddle/.test(line))
  .flatMap((line) => {
    const [, names = "", , , bound = ""] = line
      .split(" | ")
      .flatMap((cell, index) => (index === 0 ? ["", cell] : [cell]));
    return [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => ({
      name,
      pattern: patternOf(name),
      expires: bound.startsWith("TTL"),
    }));
  });

/** `{id}` and `<…>` stand for any text, `*` for any rest. */
function patternOf(name: string): RegExp {
  const parts = name.split(/(\{id\}|<[^>]+>|\*)/).map((part) => {
    if (part === "{id}") return "\\{[^}]+\\}";
    if (part === "*") return ".*";
    return part.startsWith("<") ? ".+" : part.replaceAll(/[{}.]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`);
}

/** Keys that the table does not have, and those without the TTL that it promises. */
export async function findUnboundedKeys(redis: Redis): Promise<string[]> {
  if (rows.length < 50) throw new Error("The table of keys in docs/architecture.md cannot be read.");
  const wrong: string[] = [];
  for (const key of await redis.keys("*")) {
    const known = rows.filter(({ pattern }) => pattern.test(key));
    if (known.length === 0) wrong.push(`${key} is not in the table`);
    else if (known.every(({ expires }) => expires) && (await redis.ttl(key)) === -1)
      wrong.push(`${key} has no TTL`);
  }
  return wrong.toSorted();
}
