import { compileGlob } from "../agent/policy/command-pattern.ts";
import { askUser } from "../agent/tools/ask-user.ts";
import { createSandboxTools, createSessionTools } from "../agent/tools/built-in.ts";
import { callToolName, findToolsName } from "../agent/tools/dispatch/deferred-tools.ts";
import { openPullRequestName, openRepositoryName } from "../agent/contracts/repositories.ts";
import { getSkillName } from "../agent/skills/get-skill.ts";
import { shareFolderName, sharePortName } from "../agent/contracts/previews.ts";
import { webFetchName, webSearchName } from "../agent/contracts/web.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Settings } from "../config/schema.ts";

/** The names of all tools that are not of MCP servers. */
export function listOwnTools(): string[] {
  const simple = [...createSandboxTools(), ...createSessionTools(), askUser].map(({ name }) => name);
  const of = { web: [webFetchName, webSearchName], previews: [sharePortName, shareFolderName] };
  const more = [getSkillName, "task", findToolsName, callToolName, ...of.web, ...of.previews];
  return [...simple, ...more, openRepositoryName, openPullRequestName];
}

/**
 * Refuses names of tools and skills in the settings that stand for nothing: a rule about a tool that does not exist
 * would hold nothing back.
 *
 * @param skills the names of those that there are
 * @throws ConfigError
 */
export function validateReferences(
  { tools, channels, repositories, sandbox }: Settings,
  skills: readonly string[],
): void {
  const own = listOwnTools();
  const faults: string[] = [];
  const checkTool = (place: string, name: string) => {
    if (name.includes("__") || own.some(compileGlob(name))) return;
    const known = `${own.toSorted().join(", ")}, and for MCP tools server__tool`;
    faults.push(`${place}: there is no tool ${name}; expected one of ${known}, e.g. github__*.`);
  };
  const refuseUnknown = (
    place: string,
    kind: string,
    names: readonly string[] | undefined,
    known: object,
  ) => {
    const list = Object.keys(known);
    for (const name of (names ?? []).filter((each) => !list.includes(each))) {
      faults.push(`${place}: there is no ${kind} ${name}; there are ${list.join(", ") || "none"}.`);
    }
  };
  for (const [index, { tool }] of tools.rules.entries()) checkTool(`tools.rules.${index}.tool`, tool);
  for (const [id, channel] of Object.entries(channels)) {
    for (const name of channel.tools ?? []) checkTool(`channels.${id}.tools`, name);
    refuseUnknown(`channels.${id}.repositories`, "repository", channel.repositories, repositories);
    refuseUnknown(`channels.${id}.toolChains`, "tool chain", channel.toolChains, sandbox.toolChains);
    for (const name of channel.skills ?? []) {
      if (skills.some(compileGlob(name))) continue;
      faults.push(
        `channels.${id}.skills: there is no skill ${name}; there are ${skills.join(", ") || "none"}.`,
      );
    }
  }
  if (faults.length > 0)
    throw new ConfigError(`Configuration refused:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
}
