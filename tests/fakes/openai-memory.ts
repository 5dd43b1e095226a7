/** What the fake said, so that it can tell whether it comes back as it was. */
import {
  type ChatAssistant,
  type ChatBody,
  type InputItem,
  invalid,
  type Refusal,
  type ResponsesBody,
} from "./openai-rules.ts";

/** Remembers reasoning. Like the real services, it asks for it beside the calls that were made after it. */
export class Memory {
  /** By the id of each call that an assistant message made. */
  readonly #chats = new Map<string, ChatAssistant>();
  /** The JSON of each reasoning item. */
  readonly #reasoning = new Map<string, string>();
  /** The reasoning that each function call was made after. */
  readonly #required = new Map<string, string>();

  keepChat(message: ChatAssistant): void {
    for (const { id } of message.tool_calls ?? []) this.#chats.set(id, message);
  }

  keepItems(items: readonly InputItem[]): void {
    let reasoning: string | undefined;
    for (const item of items) {
      if (!("type" in item)) continue;
      if (item.type === "reasoning") {
        reasoning = item.id;
        this.#reasoning.set(item.id, JSON.stringify(item));
      } else if (item.type === "function_call" && item.id && reasoning) {
        this.#required.set(item.id, reasoning);
      }
    }
  }

  /** From now on, reasoning that was encrypted before is not accepted any more, as with another account. */
  forgetKeys(): void {
    this.#reasoning.clear();
  }

  refusalOfChat({ messages }: ChatBody): Refusal | undefined {
    for (const [index, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      for (const { id, extra_content } of message.tool_calls ?? []) {
        const said = this.#chats.get(id);
        const signed = said?.tool_calls?.find((call) => call.id === id)?.extra_content;
        if (signed && JSON.stringify(signed) !== JSON.stringify(extra_content)) {
          return invalid("Function call is missing a thought_signature in functionCall parts.");
        }
        if (said && thinkingOf(said) !== thinkingOf(message)) {
          return invalid(
            `The reasoning_content in the thinking mode must be passed back to the API: ${thinkingOf(said)} was expected in message ${index}, and it has ${thinkingOf(message)}.`,
          );
        }
      }
    }
    return undefined;
  }

  /** `sent` is the request as it came: encrypted reasoning must be in it to the byte. */
  refusalOfResponses({ input }: ResponsesBody, sent: string): Refusal | undefined {
    const given = new Set<string>();
    for (const item of input) {
      if (!("type" in item)) continue;
      if (item.type === "reasoning") {
        given.add(item.id);
        const said = this.#reasoning.get(item.id);
        if (said === undefined || !sent.includes(said)) {
          const message = `The encrypted content for item ${item.id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
          return invalid(message, null, "invalid_encrypted_content");
        }
      } else if (item.type === "function_call" && item.id) {
        const required = this.#required.get(item.id);
        if (required && !given.has(required)) {
          return invalid(
            `Item '${item.id}' of type 'function_call' was provided without its required 'reasoning' item: '${required}'.`,
            "input",
          );
        }
      }
    }
    return undefined;
  }
}

function thinkingOf({ content, reasoning_content, reasoning, reasoning_details }: ChatAssistant): string {
  return JSON.stringify({ content: content ?? "", reasoning_content, reasoning, reasoning_details });
}
