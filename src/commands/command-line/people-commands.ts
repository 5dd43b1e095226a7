import type { Command } from "commander";
import { addExamples, jsonOption, type Runner } from "./runner.ts";

interface Json {
  json?: true;
}

/** Adds what serves people who ask for erasure. */
export function addPeople(program: Command, run: Runner): void {
  const people = program
    .command("people")
    .description("list whom the audit log names, or have somebody forgotten");
  people
    .command("list")
    .description("list everybody whom the audit log names")
    .option(...jsonOption)
    .action((options: Json) =>
      run(async () => (await import("../people.ts")).printPeople(options), { redis: true }),
    );
  people
    .command("forget")
    .description(
      "make a person's names in the audit log unreadable, for good; delete notes about them and their tokens",
    )
    .argument("<person>", "as heddle people list prints them, or their name")
    .option("--threads", "delete the threads in which nobody else has written, too")
    .option(...jsonOption)
    .action((person: string, options: Json & { threads?: true }) =>
      run(async () => (await import("../people.ts")).forgetPersonByName(person, options), { redis: true }),
    );
  addExamples(people, [["heddle people forget slack:T012345:U012345 --threads", "as Ada has asked for"]]);
}
