import { expect, test } from "vitest";
import type { RepositoryAccess } from "../../../src/agent/contracts/repositories.ts";
import { createSandboxTools, createSessionTools } from "../../../src/agent/tools/built-in.ts";
import { createDeferredAccess } from "../../../src/agent/tools/dispatch/deferred-tools.ts";
import { findSchema } from "../../../src/agent/tools/definition.ts";
import { createPreviewTools } from "../../../src/agent/tools/previews.ts";
import { createRepositoryTools } from "../../../src/agent/tools/repositories/repositories.ts";
import { parseInput } from "../../../src/agent/tools/dispatch/coerce-input.ts";
import { createWebTools } from "../../../src/agent/tools/web-search.ts";

/** The part of a channel's repositories that their tools tell the model; each turn has a list of its own. */
function repositoriesOf(branchPrefix: string, ...names: string[]): RepositoryAccess {
  const list = names.map((name) => ({
    ...{ name, title: `acme/${name}`, address: `https://git.example/acme/${name}.git` },
    push: "ask" as const,
  }));
  const untouched = () => expect.unreachable();
  return {
    list,
    branchPrefix,
    requester: untouched,
    coAuthor: untouched,
    whilePushing: untouched,
    openPullRequest: untouched,
  };
}

const toolsOf = (repositories: RepositoryAccess) => [
  ...createSandboxTools(),
  ...createSessionTools(),
  ...createPreviewTools({ findObstacle: () => undefined, publish: () => expect.unreachable() }),
  ...createRepositoryTools(repositories),
  ...createWebTools({
    pages: {
      judge: () => expect.unreachable(),
      read: () => expect.unreachable(),
      noteShown: () => expect.unreachable(),
    },
    search: { find: () => expect.unreachable() },
  }),
  ...createDeferredAccess([]),
];

test("The schemas of Heddle's tools are made once, not in each turn", () => {
  const [first, second] = ["one-", "two-"].map((prefix) => toolsOf(repositoriesOf(prefix, "shop", "site")));
  const madeAnew = first?.filter((tool, index) => findSchema(tool) !== findSchema(second?.[index] ?? tool));
  expect(madeAnew?.map(({ name }) => name)).toEqual([]);
  expect(second).toHaveLength(first?.length ?? 0);
});

test("A channel with other repositories is told its own", () => {
  const schemas = [["shop", "site"], ["site"]].map((names) =>
    createRepositoryTools(repositoriesOf("one-", ...names)).map(findSchema),
  );
  for (const [index, names] of [["shop", "site"], ["site"]].entries()) {
    for (const schema of schemas[index] ?? [])
      expect(schema).toMatchObject({ properties: { repository: { enum: names } } });
  }
});

test("Each tool takes null for all that may be left out, and for nothing else", () => {
  for (const tool of toolsOf(repositoriesOf("one-", "shop"))) {
    const { properties = {}, required = [] } = findSchema(tool) as {
      properties?: Record<string, unknown>;
      required?: string[];
    };
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]));
    const { parsed, taken } = parseInput(tool.input, nulls);
    expect([tool.name, taken]).toEqual([tool.name, {}]);
    const refused = parsed.error?.issues.flatMap(({ path }) => path.slice(0, 1));
    expect([tool.name, new Set(refused)]).toEqual([tool.name, new Set(required)]);
  }
});
