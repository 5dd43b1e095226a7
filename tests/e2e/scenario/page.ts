import { leaveOutFigures, type Room } from "./chat.ts";

/** One situation as one platform has shown it. */
export interface PlayedAct {
  title: string;
  platform: string;
  /** A text of all that stands in the room. */
  drawn: string;
}

const marks = {
  taken: "👀",
  waiting: "⏳",
  paused: "⏸️",
  answered: "✅",
  stopped: "🛑",
  failed: "⚠️",
};

const mostLines = 14;

/** Everything in a room as its platform draws it, without what differs from run to run. */
export function drawRoom(room: Room): string {
  const messages = room.messages().map((raw) => {
    const { who, mark } = room.seen(raw);
    const name = who.charAt(0).toUpperCase() + who.slice(1);
    const lines = leaveOutFigures(room.drawn(raw)).split("\n");
    const shown =
      lines.length > mostLines
        ? [...lines.slice(0, 4), `… ${lines.length - 6} more lines …`, ...lines.slice(-2)]
        : lines;
    return [name + (mark ? `  ${marks[mark]}` : ""), ...shown.map((line) => `    ${line}`.trimEnd())].join(
      "\n",
    );
  });
  return messages.join("\n");
}

const preface = `# What people see

Every situation that the tests play on each platform with the real program (\`tests/e2e/scenario\`), as it stands there in the end: what the platform got, drawn as text. \`[…]\` are buttons, the sign behind a name is Heddle's reaction to the message, figures are left out. Slack draws the lines below a “What was done” as cards that fold open, with an icon for the sign before each, Discord the lines that begin with \`-#\` as small print, and both draw the Markdown. Where Slack lets answers [grow](slack.md#answers-that-grow), cards and answer are one message; here it does not.

<!-- Made by HEDDLE_DRAW=1 npm test -- tests/e2e/scenario.test.ts, and compared with what each run shows. -->
`;

/** The page of all situations, in the order of the acts. @param platforms their names, in order */
export function drawPage(
  titles: readonly string[],
  platforms: readonly string[],
  played: readonly PlayedAct[],
): string {
  const sections = titles.map((title) => {
    const drawn = platforms.map((platform) => {
      const act = played.find((one) => one.title === title && one.platform === platform);
      const name = platform.charAt(0).toUpperCase() + platform.slice(1);
      return act ? `${name}:\n\n\`\`\`\`text\n${act.drawn}\n\`\`\`\`` : `${name} has nothing of the kind.`;
    });
    return [`## ${title}`, ...drawn].join("\n\n");
  });
  return `${[preface, ...sections].join("\n")}\n`
    .replaceAll("\n## ", "\n\n## ")
    .replaceAll(/\n{3,}/g, "\n\n");
}
