import type { Seen } from "./chat.ts";

/** Draws a thread as people see it, for the README: what is said comes from the payloads that the platform got. */

const width = 760;
const lineHeight = 22;
const shownColumns = 84;
const colours: Record<string, string> = { ada: "#2f6f8f", bob: "#8f5a2f", heddle: "#5b3f8f" };
const reactions = { taken: "👀", waiting: "⏳", paused: "⏸️", answered: "✅", stopped: "🛑", failed: "⚠️" };

export function drawThread(messages: readonly Seen[], title: string): string {
  const parts: string[] = [];
  let y = 28;
  for (const { who, text, footer, mark } of messages) {
    const colour = colours[who] ?? "#555";
    const name = who === "heddle" ? "Heddle" : who.charAt(0).toUpperCase() + who.slice(1);
    parts.push(
      `<rect x="20" y="${y - 6}" width="36" height="36" rx="6" fill="${colour}"/>`,
      `<text x="38" y="${y + 18}" text-anchor="middle" fill="#fff" font-weight="700">${name.charAt(0)}</text>`,
      `<text x="70" y="${y + 6}" font-weight="700">${name}${who === "heddle" ? '<tspan dx="8" font-size="11" font-weight="400" fill="#777">APP</tspan>' : ""}</text>`,
    );
    y += 6 + lineHeight;
    for (const line of wrap(text)) {
      parts.push(`<text x="70" y="${y}">${style(line)}</text>`);
      y += lineHeight;
    }
    for (const line of footer === "" ? [] : wrap(footer)) {
      parts.push(`<text x="70" y="${y}" font-size="12" fill="#777">${escape(line)}</text>`);
      y += lineHeight - 2;
    }
    if (mark) {
      parts.push(
        `<rect x="70" y="${y - 14}" width="48" height="24" rx="12" fill="#eef3fb" stroke="#9db7dd"/>`,
        `<text x="80" y="${y + 3}" font-size="13">${reactions[mark]} 1</text>`,
      );
      y += 24;
    }
    y += 14;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" role="img" font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="15" fill="#1d1c1d">
<title>${escape(title)}</title>
<rect x="0.5" y="0.5" width="${width - 1}" height="${y - 1}" rx="10" fill="#fff" stroke="#d6d6d6"/>
${parts.join("\n")}
</svg>
`;
}

/** What a picture says, with the figures that differ from run to run left out. */
export function textsOf(svg: string): string {
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = ""]) =>
    text.replaceAll(/<[^>]+>/g, ""),
  );
  return texts
    .join("\n")
    .replaceAll(/[\d.,]+ (ms|s|min|tokens?|process(es)?)\b|\$[\d.]+/g, "N")
    .replaceAll(/\s+/g, " ");
}

function wrap(text: string): string[] {
  return text.split(/ {2}\n|\n/).flatMap((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(" ")) {
      const last = lines.at(-1) ?? "";
      if (last !== "" && last.length + word.length >= shownColumns) lines.push(word);
      else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
    }
    return lines.filter((line) => line !== "");
  });
}

function style(line: string): string {
  // The scenario tells its processes apart by a fraction of a second.
  return escape(line.replaceAll(/(\d)\.\d{6,}/g, "$1"))
    .replaceAll(/\*\*(.+?)\*\*/g, '<tspan font-weight="700">$1</tspan>')
    .replaceAll(/`(.+?)`/g, '<tspan font-family="monospace" fill="#c0392b">$1</tspan>');
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
