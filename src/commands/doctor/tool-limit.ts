import { describeLeftOut, findToolLimit, limitTools } from "../../agent/llm/tool-limit.ts";
import { toModelToolName } from "../../agent/mcp/names.ts";
import type { McpServerStatus } from "../../agent/mcp/pool.ts";
import { furtherModels } from "../../app/models.ts";
import { listOwnTools } from "../../app/validate-references.ts";
import type { Finding } from "../../chat/adapter.ts";
import type { Config } from "../../config/load.ts";
import { resolveProtocol } from "../../agent/llm/check-access.ts";
import { chooseModel, namedModel } from "../../config/model-choice.ts";

/** Warns of each model whose service takes fewer tools than there are. */
export function checkToolLimit(
  config: Config,
  servers: readonly Pick<McpServerStatus, "server" | "tools">[],
): Finding[] {
  const tools = [
    ...listOwnTools().map((name) => ({ name })),
    ...servers.flatMap(({ server, tools: offered }) =>
      offered.map((tool) => ({ name: toModelToolName(server, tool), optional: true as const })),
    ),
  ];
  const first = chooseModel(config);
  const choices = [first, ...[...furtherModels(config.settings)].map((name) => namedModel(config, name))];
  const warned = new Map<string, Finding>();
  for (const choice of choices) {
    if (!("model" in choice) || resolveProtocol(choice) === "anthropic") continue;
    const limit = findToolLimit(choice.baseUrl);
    const { leftOut } = limitTools(tools, limit);
    if (limit === undefined || leftOut.length === 0) continue;
    const text = `${choice.provider}/${choice.model}: ${describeLeftOut(leftOut, limit)} Disable a server, or name the tools that a channel needs in channels.<id>.tools`;
    warned.set(choice.model, { level: "warning", text });
  }
  return [...warned.values()];
}
