/** Draws what a terminal showed, for the docs: the words come from the transcript of the program itself. */

const columns = 108;
const lineHeight = 19;
const columnWidth = 7.8;
// Bytes that a terminal acts on: colours and movements, and the clipboard (OSC 52).
const movement = "\\u001b\\[[\\d;]*[A-Za-z]";
// Behind a prompt the cursor is moved to where the person types.
const cursorMove = "\\u001b\\[\\d+G(?=[^\\u001b]*$)";
const clipboard = "\\u001b\\]52;[^\\u0007]*\\u0007";

/**
 * @param places What differs from machine to machine, such as folders, with what is drawn instead.
 */
export function drawTerminal(transcript: string, title: string, places: Record<string, string>): string {
  let text = transcript.replaceAll("\r", "").replaceAll(new RegExp(clipboard, "g"), "");
  for (const [place, shown] of Object.entries(places)) text = text.replaceAll(place, shown);
  const lines = text.replaceAll("\n\n\n", "\n\n").trimEnd().split("\n");
  const width = Math.round(columns * columnWidth) + 40;
  const height = lines.length * lineHeight + 36;
  const drawn = lines.map((line, index) => drawLine(line, 32 + index * lineHeight)).filter(Boolean);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#d8dee4">
<title>${escape(title)}</title>
<rect width="${width}" height="${height}" rx="10" fill="#1c2128"/>
${drawn.join("\n")}
</svg>
`;
}

function drawLine(line: string, y: number): string {
  const [shown = "", typed = ""] = line
    .split(new RegExp(cursorMove))
    .map((part) => part.replaceAll(new RegExp(movement, "g"), ""));
  if (shown.trim() === "") return "";
  const cut = shown.length > columns ? `${shown.slice(0, columns - 1)}…` : shown;
  const indent = cut.length - cut.trimStart().length;
  const marked = escape(cut.trimStart())
    .replace(/^✓/, '<tspan fill="#6bc46d">✓</tspan>')
    .replace(/^✗/, '<tspan fill="#f47067">✗</tspan>')
    // SVG would take several blanks for one.
    .replaceAll("  ", "\u00a0\u00a0");
  const answer = typed.trim() && `<tspan fill="#6cb6ff">${escape(typed.trim())}</tspan>`;
  const weight = indent === 0 ? ' font-weight="700"' : "";
  return `<text x="${Math.round(20 + indent * columnWidth)}" y="${y}"${weight}>${marked}${answer}</text>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
