/**
 * Reads Discord's Markdown as its client does: patterns, tried in this order at each place. They agree with what two
 * independent readers of it have found out: https://github.com/ItzDerock/discord-markdown-parser and
 * https://github.com/jeremy-rifkin/discord-markdown.
 */
export interface DiscordText {
  /** What people read, with the text of code; marks are left out. */
  shown: string;
  /** The blocks of code. */
  blocks: { language: string; text: string }[];
  /** Text in small print. */
  small: string[];
  links: { text: string; href: string }[];
  /** Marks, headings, lists and the like that were found, as `bold(x)`. */
  marks: string[];
  /** Everything that addresses somebody or something, or changes into a picture. */
  mentions: string[];
}

interface State {
  isStart: boolean;
  isQuoted: boolean;
}

type Read = (match: RegExpExecArray, state: State) => void;

export function readDiscord(message: string): DiscordText {
  const found: DiscordText = { shown: "", blocks: [], small: [], links: [], marks: [], mentions: [] };
  const add = (text: string) => {
    found.shown += text;
  };
  const inside = (name: string, text: string, state: State) => {
    const before = found.shown.length;
    parse(text, state);
    found.marks.push(`${name}(${found.shown.slice(before).trim()})`);
  };
  const mark =
    (name: string): Read =>
    (match, state) =>
      inside(name, match[1] ?? match[2] ?? "", { ...state, isStart: false });

  const atStart: [RegExp, Read][] = [
    [
      /^(#{1,3}) +(?!#)([^\n]+)(?:\n|$)/,
      (match, state) => (inside("heading", match[2] ?? "", state), add("\n")),
    ],
    [
      /^-# +(?!-#)([^\n]+)(?:\n|$)/,
      (match, state) => {
        const before = found.shown.length;
        parse(match[1] ?? "", state);
        found.small.push(found.shown.slice(before));
        found.shown = found.shown.slice(0, before);
      },
    ],
    [/^ *([+*-]|\d+\.) +([^\n]+(?:\n|$))/, (match, state) => inside("item", match[2] ?? "", state)],
  ];
  const quotation: [RegExp, Read] = [
    /^(?: *>>> [\s\S]*| *> [^\n]*(?:\n *> [^\n]*)*\n?)/,
    (match, state) =>
      inside("quote", match[0].replaceAll(/^ *>(?:>>)? ?/gm, ""), { ...state, isQuoted: true }),
  ];
  const anywhere: [RegExp, Read][] = [
    [
      /^```(?:([\w+\-.#]+)\n)?\n*([^\n][\s\S]*?)\n*```/,
      (match) => {
        found.blocks.push({ language: match[1] ?? "", text: match[2] ?? "" });
        add(`${match[2]}\n`);
      },
    ],
    [/^\\([^0-9A-Za-z\s])/, (match) => add(match[1] ?? "")],
    [/^<(https?:\/\/[^\s>]+)>/, (match) => link("", match[1] ?? "")],
    [/^https?:\/\/[^\s<]+[^<.,:;"'\]\s)]/, (match) => link("", match[0])],
    [
      /^\[((?:[^\]\\]|\\.)+)\]\((https?:\/\/[^\s)]+)\)/,
      (match, state) => {
        const before = found.shown.length;
        parse(match[1] ?? "", { ...state, isStart: false });
        link(found.shown.slice(before), match[2] ?? "");
      },
    ],
    [
      /^(`{1,2})(?!`)([\s\S]*?[^`])\1(?!`)/,
      (match) => add((match[2] ?? "").replaceAll(/^ (?=`)|(?<=`) $/g, "")),
    ],
    [/^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/, mark("bold")],
    [/^__((?:\\[\s\S]|[^\\])+?)__(?!_)/, mark("underline")],
    [
      /^\b_((?:__|\\[\s\S]|[^\\_])+?)_\b|^\*(?=\S)((?:\*\*|\\[\s\S]|\s+(?:\\[\s\S]|[^\s*\\]|\*\*)|[^\s*\\])+?)\*(?!\*)/,
      mark("italic"),
    ],
    [/^~~([\s\S]+?)~~/, mark("strike")],
    [/^\|\|([\s\S]+?)\|\|/, mark("spoiler")],
    [
      /^(?:<(?:@[!&]?|#|\/[^:>]+:|a?:\w+:|t:|id:)[^>\s]*>|@everyone|@here)/,
      (match) => void found.mentions.push(match[0]),
    ],
    [/^[\s\S][^\n\\`*_~|[<@#:>h+\-\d]*/, (match) => add(match[0])],
  ];

  function link(text: string, href: string): void {
    found.links.push({ text, href });
    if (text === "") add(href);
  }

  function parse(source: string, initial: State): void {
    const state = { ...initial };
    for (let at = 0; at < source.length; ) {
      const rest = source.slice(at);
      const rules = [
        ...(state.isStart && !state.isQuoted ? [quotation] : []),
        ...(state.isStart ? atStart : []),
        ...anywhere,
      ];
      const hit = rules
        .map(([pattern, read]) => ({ match: pattern.exec(rest), read }))
        .find(({ match }) => match !== null && match[0] !== "");
      if (!hit?.match) throw new Error(`Nothing reads ${JSON.stringify(rest.slice(0, 20))}.`);
      hit.read(hit.match, state);
      const [taken] = hit.match;
      at += taken.length;
      state.isStart = /\n[ \t]*$/.test(taken) || (state.isStart && taken.trim() === "");
    }
  }

  parse(message, { isStart: true, isQuoted: false });
  return found;
}
