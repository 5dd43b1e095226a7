/**
 * What a command has printed, as a terminal shows it: colours as classes, of what a carriage return overwrites the last
 * state. The time is linear in the length of the text.
 */

/** ECMA-48: `ESC [` with parameters, `ESC ]` up to its end, and other sequences of an escape. */
const control = new RegExp(
  [
    String.raw`\x1b\[([0-9:;<=>?]{0,60})[ -/]{0,4}([@-~])`,
    String.raw`\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)`,
    String.raw`\x1b[ -/]{0,4}[0-~]?`,
    String.raw`\r\n|[\r\n]`,
    // What has no shape in a browser, but for a tab.
    String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`,
  ].join("|"),
  "g",
);

const colors = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
type Color = (typeof colors)[number];

interface Style {
  color?: Color | undefined;
  background?: Color | undefined;
  /** Classes: bold, faint, italic, underline, inverse, strike. */
  marks: ReadonlySet<string>;
}

/** Text of one look; `classes` may be empty. */
export interface Run {
  classes: string;
  text: string;
}

/** Neighbouring runs differ in their classes. */
export function parseTerminal(text: string): Run[] {
  const screen = new Screen();
  let at = 0;
  for (const match of text.matchAll(control)) {
    screen.print(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[0] === "\n" || match[0] === "\r\n") screen.startLine();
    else if (match[0] === "\r") screen.returnCarriage();
    else if (match[2] === "m") screen.setStyle(match[1] ?? "");
    else if (match[2] === "K") screen.eraseLine();
  }
  screen.print(text.slice(at));
  return screen.finish();
}

class Screen {
  readonly #done: Run[] = [];
  #line: Run[] = [];
  #returned = false;
  #style: Style = { marks: new Set() };
  #classes = "";

  print(text: string): void {
    if (text === "") return;
    // What is printed after a carriage return is written over the line.
    if (this.#returned) this.#line = [];
    this.#returned = false;
    addRun(this.#line, { classes: this.#classes, text });
  }

  startLine(): void {
    for (const run of this.#line) addRun(this.#done, run);
    addRun(this.#done, { classes: "", text: "\n" });
    this.#line = [];
    this.#returned = false;
  }

  returnCarriage(): void {
    this.#returned = true;
  }

  eraseLine(): void {
    if (this.#returned) this.#line = [];
  }

  setStyle(parameters: string): void {
    this.#style = applyStyle(this.#style, parameters.split(/[;:]/).map(Number));
    const { color, background, marks } = this.#style;
    this.#classes = [
      ...(color ? [`ansi-${color}`] : []),
      ...(background ? [`ansi-on-${background}`] : []),
      ...[...marks].map((mark) => `ansi-${mark}`),
    ].join(" ");
  }

  finish(): Run[] {
    for (const run of this.#line) addRun(this.#done, run);
    return this.#done;
  }
}

function addRun(runs: Run[], { classes, text }: Run): void {
  const last = runs.at(-1);
  if (last?.classes === classes) last.text += text;
  else runs.push({ classes, text });
}

const marksOn: Record<number, string> = {
  ...{ 1: "bold", 2: "faint", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" },
};
const marksOff: Record<number, readonly string[]> = {
  ...{ 22: ["bold", "faint"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"] },
};

/** Select Graphic Rendition, ECMA-48 8.3.117. Bright colours are shown as the others: both must be readable. */
function applyStyle(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    const [on, off] = [marksOn[code], marksOff[code]];
    if (code === 0) style = { marks: new Set() };
    else if (on) style = { ...style, marks: new Set([...style.marks, on]) };
    else if (off)
      style = { ...style, marks: new Set([...style.marks].filter((mark) => !off.includes(mark))) };
    else if (code === 38 || code === 48) {
      const [color, used] = readColor(codes, at + 1);
      style = code === 38 ? { ...style, color } : { ...style, background: color };
      at += used;
    } else style = { ...style, ...basicColor(code) };
  }
  return style;
}

function basicColor(code: number): Partial<Style> {
  const index = code % 10;
  const isColor = index < 8;
  switch (Math.floor(code / 10)) {
    case 3:
    case 9:
      return isColor || code === 39 ? { color: colors[index] } : {};
    case 4:
    case 10:
      return isColor || code === 49 ? { background: colors[index] } : {};
    default:
      return {};
  }
}

/** `5;n` of 256 colours or `2;r;g;b`, as the nearest of the eight; how many codes it took. */
function readColor(codes: readonly number[], at: number): [color: Color | undefined, used: number] {
  if (codes[at] === 2) return [nearest(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), 4];
  if (codes[at] !== 5) return [undefined, 0];
  const n = codes[at + 1] ?? 0;
  if (n < 16) return [colors[n % 8], 2];
  // A cube of 6 by 6 by 6, and behind it shades of grey.
  if (n >= 232) return [undefined, 2];
  const level = (step: number) => (Math.floor((n - 16) / step) % 6) * 51;
  return [nearest(level(36), level(6), level(1)), 2];
}

function nearest(red: number, green: number, blue: number): Color | undefined {
  const [least, most] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  // Grey: as the text.
  if (most - least < 40) return undefined;
  const middle = (most + least) / 2;
  const index = (red > middle ? 1 : 0) + (green > middle ? 2 : 0) + (blue > middle ? 4 : 0);
  return colors[index];
}
