// What decisions, actions, questions, risks, dates and figures look like. Words are those of every language: a
// letter with an accent belongs to its word.
const letter = String.raw`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]`;
const wordEdge = `(?:(?<=${letter})(?!${letter})|(?<!${letter})(?=${letter}))`;

/** The same for text of any language, where \b and \w know English letters only. */
function unicode({ source, flags }: RegExp): RegExp {
  const wide = source.replaceAll(String.raw`\b`, wordEdge).replaceAll(String.raw`\w`, letter);
  return new RegExp(wide, `${flags}u`);
}

const day = /(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|tue|wed|thu|fri)\b/.source;
const month =
  /(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)/
    .source;
const dateForms = [
  String.raw`\d{4}-\d\d-\d\d`,
  String.raw`\d{1,2}[.\/]\d{1,2}(?:[.\/]\d{2,4})?`,
  String.raw`\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?${month}`,
  String.raw`${month}\s+\d{1,2}(?:st|nd|rd|th)?`,
  String.raw`(?:next|this|end of(?: the)?|eo)\s?(?:week|month|quarter|year|day|sprint|${day})`,
  "eod|eow|q[1-4]|today|tonight|tomorrow",
  String.raw`(?:on|by|until|before|till)\s+(?:${day})`,
  day,
];

export const datePattern = unicode(new RegExp(String.raw`\b(?:${dateForms.join("|")})\b`, "gi"));

export const figurePattern = unicode(
  /[$€£]\s?\d[\d.,]*\s?[kKmM]?\b|\b\d[\d.,]*\s?(?:%|percent|k\b|m\b|million|thousand|hours?|days?|weeks?|months?|people|users|customers)/g,
);

export const kinds = [
  {
    title: "Decisions",
    pattern: unicode(
      /\bdecisions?\s*:|\b(?:decided|we decide|agreed|settled on|approved|rejected|signed off|go(?:ing)? with|let'?s (?:go|do|use|take|keep|drop)|final answer|we(?:'ll| will) (?:use|keep|drop|ship|launch|move|stay|postpone|cancel))\b/i,
    ),
  },
  {
    title: "Actions",
    pattern: unicode(
      /\b(?:action(?: item)?s?|todo|to-do|task|ai)\s*:|^\s*[-*]?\s*\[ \]|\b(?:i|he|she|they|we|[A-Z]\w+)(?:'ll| will| can| is going to| are going to|'m going to)\s+(?!use|keep|be\b)[a-z]|\b(?:can|could|would) you\b|\b(?:should|must|needs? to|has to|have to)\s+[a-z]|\bplease\b|\b(?:let me|i'?d be happy to|i(?: can)? take|assigned to|follow up|owner)\b/i,
    ),
  },
  {
    title: "Questions",
    pattern: unicode(
      /\?\s*$|\b(?:open question|unclear|not sure|don'?t know|tbd|to be (?:decided|confirmed|clarified)|no idea|parking lot|wonder)\b/i,
    ),
  },
  {
    title: "Risks",
    pattern: unicode(
      /\b(?:risk|blocked|blocker|concern(?:ed)?|worr(?:y|ied)|depends on|dependency|deadline|slip(?:s|ped)?|at stake|problem)\b/i,
    ),
  },
];
