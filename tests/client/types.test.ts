import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { fileList, intakeResult } from "../../src/adapters/console/api/schemas/answers.ts";
import type { threadDetails } from "../../src/adapters/console/api/schemas/conversation.ts";
import type { decision } from "../../src/adapters/console/api/schemas/requests.ts";
import type { threadEvents } from "../../src/adapters/console/api/schemas/timeline.ts";
import type {
  ClientOptions,
  Decision,
  Entry,
  FileEntry,
  Line,
  Question,
  Result,
  Thread,
} from "../../src/client/index.ts";

test("what the client reads is what the API answers, and what it sends what the API takes", () => {
  expectTypeOf<z.infer<typeof intakeResult>>().toExtend<Result>();
  expectTypeOf<z.infer<typeof fileList>["entries"][number]>().toExtend<FileEntry>();
  type Details = z.infer<typeof threadDetails>;
  expectTypeOf<Details["line"]>().toExtend<Line>();
  expectTypeOf<Details["questions"][number]>().toExtend<Question>();
  expectTypeOf<Details["messages"][number]["kind"]>().toEqualTypeOf<Thread["messages"][number]["kind"]>();
  type Entries = z.infer<typeof threadEvents.entries>["entries"][number];
  expectTypeOf<Entries["position"]>().toEqualTypeOf<Entry["position"]>();
  expectTypeOf<Extract<Entries, { kind: "turn-end" }>>().toExtend<Entry>();
  expectTypeOf<Decision>().toExtend<z.input<typeof decision.schema>>();
});

test("a token may come from a variable that is not set", () => {
  expectTypeOf<{ url: string; token: typeof process.env.HEDDLE_TOKEN }>().toExtend<ClientOptions>();
});
