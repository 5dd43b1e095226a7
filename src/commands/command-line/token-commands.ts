import type { Command } from "commander";
import type { Role } from "../../chat/roles.ts";
import { addExamples, jsonOption, oneOf, type Runner, wholeNumber } from "./runner.ts";

interface Json {
  json?: true;
}

/** Adds what gives people tokens for the console and its API. */
export function addTokens(program: Command, run: Runner): void {
  const tokens = program
    .command("tokens")
    .description("give people tokens of their own for the console and its API");
  tokens
    .command("create")
    .description("make a token, and print it this once")
    .argument("<name>", "whose it is; the audit log says this name")
    .addOption(oneOf("--role <role>", "what they may do", ["operator", "member", "viewer"]).default("member"))
    .addOption(wholeNumber("--days <days>", "days until it ends; without it, it does not", 1, 3_650))
    .option(...jsonOption)
    .action((name: string, options: Json & { role: Role; days?: number }) =>
      run(async () => (await import("../tokens.ts")).createToken(name, options)),
    );
  tokens
    .command("list")
    .description("list whose tokens there are")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../tokens.ts")).printTokens(options)));
  tokens
    .command("revoke")
    .description("revoke a token at once")
    .argument("<id>", "as heddle tokens list prints it")
    .option(...jsonOption)
    .action((id: string, options: Json) =>
      run(async () => (await import("../tokens.ts")).revokeToken(id, options)),
    );
  addExamples(tokens, [
    ["heddle tokens create ada --role viewer --days 90", "Ada may read for three months"],
    ["heddle tokens revoke 1f0c9a3e", ""],
  ]);
}
