/**
 * Characters that people do not see and a model, a shell or a program reads: controls, zero width, bidirectional marks,
 * fillers, selectors, tags, and what only some programs take for the end of a line. Line feed and tab are text.
 */
const hidden = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** What looks like a blank and is none to a shell: `rm\u00a0-rf` is one word. Ordinary in the text of people. */
const blank = /(?! )\p{Zs}|[\u2800\uFFFC\u{16FE4}]/u;
const hiddenOrBlank = new RegExp(`${hidden.source}|${blank.source}`, "gu");

/** Most calls; what has no other character needs no closer look, which is ten times as slow. */
const plain = /^[\n\t\x20-\x7e]*$/;

/** Asks for the colored or the plain form of the sign before it, as in ❤️ and 1️⃣. */
const afterEmoji = String.raw`(?<=\p{Extended_Pictographic}|[\d#*](?=[\uFE0E\uFE0F]\u20E3))[\uFE0E\uFE0F]`;
/** Makes one sign of two, as in families. */
const betweenEmoji = String.raw`(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D(?=\p{Extended_Pictographic})`;
/** Scripts that spell words with joiners, among them Persian and the scripts of India. */
const joining = ["Arab", "Beng", "Deva", "Gujr", "Guru", "Knda", "Mlym", "Mong", "Orya", "Sinh", "Syrc"]
  .concat("Taml", "Telu", "Khmr", "Mymr", "Tibt")
  .map((script) => String.raw`\p{Script=${script}}`)
  .join("");
const insideWord = `(?<=[${joining}])[\\u200C\\u200D](?=[${joining}])`;

const selector = new RegExp(afterEmoji, "gu");
const neededOrHidden = new RegExp(`(${afterEmoji}|${betweenEmoji}|${insideWord})|${hidden.source}`, "gu");

/** What terminals take for orders. */
const terminalSequence =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B\][^\u0007\u001B\n]*(?:\u0007|\u001B\\)/g;

/**
 * The text without hidden characters. What belongs to its neighbours stays: family emoji and Persian words are whole.
 * @param replacement stands for each of them
 */
export function removeHidden(text: string, replacement = ""): string {
  return text
    .replaceAll(terminalSequence, "")
    .replaceAll(neededOrHidden, (_match, needed: string | undefined) => needed ?? replacement);
}

/**
 * The text with every hidden character written as an escape, as in `\u202e`, so that what is read is what it says; only
 * the selector of an emoji stays.
 */
export function escapeHidden(text: string): EscapedText {
  return escapeAll(text, hidden);
}

/** As `escapeHidden`, and blanks but the plain one too. For code that people judge before it runs. */
export function escapeHiddenAndBlank(text: string): EscapedText {
  return escapeAll(text, hiddenOrBlank);
}

export interface EscapedText {
  text: string;
  /** How many characters are written as escapes. */
  count: number;
}

function escapeAll(text: string, unseen: RegExp): EscapedText {
  if (plain.test(text)) return { text, count: 0 };
  const kept = new Set([...text.matchAll(selector)].map(({ index }) => index));
  let count = 0;
  const escaped = text.replaceAll(unseen, (character, at: number) => {
    if (kept.has(at)) return character;
    count += 1;
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
  return { text: escaped, count };
}
