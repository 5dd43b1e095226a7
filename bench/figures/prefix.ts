import { runs, says } from "../../tests/fakes/anthropic-replies.ts";
import { startFakeOpenAI } from "../../tests/fakes/openai.ts";
import type { Check, Effort, Figure, Findings } from "../figure.ts";
import { serveThread } from "../served-thread.ts";

/** Whether a provider's prompt cache can serve all of the conversation that was sent before. */
export const prefix: Figure = {
  id: "prefix",
  title: "Prompt prefix",
  method:
    "Two turns of one thread, with commands in both, over Anthropic's protocol and over chat completions. A request's tools, system prompt and messages are serialised as JSON in the order in which they were received, without the `cache_control` markers, which move; each serialisation must be a prefix of the next.",
  measure,
};

const commands = ["pwd", "echo 1 > a; echo 2", "cat a", "ls -la"];

async function measure(_effort: Effort): Promise<Findings> {
  const results = [await anthropic(), await openAI()];
  return {
    table: {
      columns: ["protocol", "requests", "bytes of the last one"],
      rows: results.map(({ protocol, texts }) => [
        protocol,
        String(texts.length),
        (texts.at(-1)?.length ?? 0).toLocaleString("en"),
      ]),
    },
    checks: results.map(({ protocol, texts }) => checkOf(protocol, texts)),
  };
}

function checkOf(protocol: string, texts: readonly string[]): Check {
  const broken = texts.findIndex((text, index) => index > 0 && !text.startsWith(texts[index - 1] ?? ""));
  return {
    rule: `with ${protocol}, the bytes of a request are a prefix of the next one's`,
    holds: texts.length > commands.length && broken === -1,
    seen: broken === -1 ? `${texts.length} requests` : `request ${broken + 1} of ${texts.length} differs`,
  };
}

async function anthropic() {
  let step = 0;
  await using served = await serveThread(() => {
    step += 1;
    const command = commands[step % (commands.length + 1)];
    return command ? runs(command, "true") : says("So far, so good.");
  });
  await served.heddle();
  await twoTurns(served);
  const texts = served.model.bodies.map(({ system, tools, messages }) => serial({ tools, system }, messages));
  return { protocol: "Anthropic's protocol", texts };
}

async function openAI() {
  let step = 0;
  const service = await startFakeOpenAI({
    replies: () => {
      step += 1;
      const command = commands[step % (commands.length + 1)];
      return command ? { calls: [{ name: "bash", input: { command } }] } : { text: "So far, so good." };
    },
  });
  try {
    await using served = await serveThread(() => says("Not asked."));
    await served.heddle([], {
      HEDDLE_MODEL: "openai/gpt-bench",
      OPENAI_API_KEY: service.apiKey,
      OPENAI_BASE_URL: service.baseUrl,
    });
    await twoTurns(served);
    const texts = service.chats.map(({ tools, messages }) => serial({ tools }, messages));
    return { protocol: "chat completions", texts };
  } finally {
    await service.close();
  }
}

async function twoTurns({ slack }: Pick<Awaited<ReturnType<typeof serveThread>>, "slack">): Promise<void> {
  const ada = slack.user("ada");
  const place = slack.channel("general");
  const question = await ada.says(place, "<@BOT> look around");
  const answers = (count: number) =>
    slack.until(
      () => place.messages.filter(({ text }) => text.includes("So far, so good.")).length === count,
      20_000,
    );
  await answers(1);
  await slack.until(() => question.reactions.has("white_check_mark"));
  await ada.says(place, "and now?", { thread: question.ts });
  await answers(2);
}

/** What a cache sees, in its order, without the brackets that close the list. */
function serial(fixed: object, messages: readonly unknown[]): string {
  const write = (value: unknown) =>
    JSON.stringify(value, (key, inner: unknown) => (key === "cache_control" ? undefined : inner));
  return [write(fixed), ...messages.map(write)].join("\n");
}
