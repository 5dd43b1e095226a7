import { expect } from "vitest";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../../fakes/anthropic.ts";
import type { Room, Seen, SentFile } from "./chat.ts";

/** Somebody who writes in a room. `about` is a part of the message that is meant. */
export interface Person {
  mentions(text: string, file?: SentFile): Promise<void>;
  says(text: string): Promise<void>;
  edits(about: string, text: string): Promise<void>;
  deletes(about: string): Promise<void>;
  stops(about: string): Promise<void>;
  presses(label: string, about: string, sentence?: string): Promise<void>;
  /** Waits until they are told something with this in it that nobody else in the room sees, and gives it. */
  isTold(text: string): Promise<string>;
}

/** The agent in a room: what its model says, and what people see of it. */
export interface Agent {
  calls(...calls: [tool: string, input: object][]): void;
  /** Resolves when people have the answer. */
  answers(text: string): Promise<void>;
  /** Waits until a message shows that, and gives its text. */
  shows(text: string): Promise<string>;
  /** Waits until that message has the mark. */
  marks(about: string, mark: Seen["mark"]): Promise<void>;
  /** The content of the file, when it is there. */
  gives(file: string): Promise<string>;
  /** Waits until the model is asked for that time, counted from 1, and gives what is new to it, with this in it. */
  reads(time: number, text: string): Promise<string>;
}

/** Models of several rooms in one service: each conversation is known by what its people write to the agent. */
export interface Voices extends FakeModelServer {
  voice(): Voice;
}

/** The model's part of one conversation. Requests wait until it is said what they are answered. */
export interface Voice {
  hears(text: string): void;
  say(reply: FakeReply): void;
  /** The last message of that request, counted from 1. */
  asked(time: number): Promise<string>;
}

export async function startVoices(): Promise<Voices> {
  const voices: { heard: string[]; replies: Line<FakeReply>; requests: Line<string> }[] = [];
  const server = await startFakeAnthropic({
    replies({ messages }) {
      const all = JSON.stringify(messages);
      const voice = voices.find(({ heard }) => heard.some((text) => all.includes(text)));
      if (!voice) throw new Error(`Nobody has said what the model was asked: ${all}`);
      const time = voice.requests.put(JSON.stringify(messages.at(-1)));
      return voice.replies.item(time);
    },
  });
  return {
    ...server,
    voice() {
      const voice = { heard: [] as string[], replies: new Line<FakeReply>(), requests: new Line<string>() };
      voices.push(voice);
      return {
        hears: (text) => void voice.heard.push(text),
        say: (reply) => void voice.replies.put(reply),
        asked: (time) => voice.requests.item(time),
      };
    },
  };
}

/** Items in the order in which they were put; who asks too early waits. */
class Line<T> {
  readonly #items: PromiseWithResolvers<T>[] = [];
  #count = 0;

  /** Returns its number, counted from 1. */
  put(item: T): number {
    this.#count += 1;
    this.#at(this.#count).resolve(item);
    return this.#count;
  }

  item(number: number): Promise<T> {
    return this.#at(number).promise;
  }

  #at(number: number): PromiseWithResolvers<T> {
    return (this.#items[number] ??= Promise.withResolvers());
  }
}

export function personIn(room: Room, voice: Voice, who: string): Person {
  const says = async (text: string, mention: boolean, file?: SentFile) => {
    voice.hears(text);
    await room.says(who, text, { mention, ...(file && { file }) });
  };
  return {
    mentions: (text, file) => says(text, true, file),
    says: (text) => says(text, false),
    edits: async (about, text) => room.edits(who, await message(room, about), text),
    deletes: async (about) => room.deletes(who, await message(room, about)),
    stops: async (about) => room.stops(who, await message(room, about)),
    async presses(label, about, sentence) {
      const offering = await message(room, about, ({ buttons }) => buttons.includes(label));
      await room.presses(who, label, offering, sentence);
    },
    async isTold(text) {
      const told = await room.until(() => room.toldAlone(who).find((each) => each.includes(text)));
      const shown = room.messages().map((raw) => room.drawn(raw));
      expect(shown.filter((each) => each.includes(told))).toEqual([]);
      return told;
    },
  };
}

export function agentIn(room: Room, voice: Voice): Agent {
  return {
    calls: (...calls) =>
      voice.say({ content: calls.map(([name, input]) => ({ type: "tool_use", name, input })) }),
    async answers(text) {
      voice.say({ content: [{ type: "text", text }] });
      // A message that can be stopped shows progress.
      await message(
        room,
        text.split("\n")[0]?.slice(0, 50) ?? "",
        ({ buttons }) => !buttons.includes("Stop"),
      );
    },
    shows: async (text) => room.seen(await message(room, text)).text,
    async marks(about, mark) {
      await message(room, about, (seen) => seen.mark === mark);
    },
    async gives(file) {
      const found = await room.until(() =>
        room.messages().find((raw) => {
          const { who, files } = room.seen(raw);
          return who === "heddle" && files.includes(file);
        }),
      );
      return room.file(found, file);
    },
    async reads(time, text) {
      const read = await voice.asked(time);
      expect(read).toContain(text);
      return read;
    },
  };
}

/** The latest message that shows this text and fits, once there is one. */
function message(room: Room, text: string, fits: (seen: Seen) => boolean = () => true): Promise<unknown> {
  return room.until(() =>
    room.messages().findLast((raw) => {
      const seen = room.seen(raw);
      return seen.text.includes(text) && fits(seen);
    }),
  );
}
