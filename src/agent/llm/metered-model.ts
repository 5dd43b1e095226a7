import type { TokenCounter } from "../context/tokens.ts";
import {
  addUsage,
  findOutputLimit,
  type LanguageModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  noUsage,
  type Usage,
} from "../model.ts";
import type { BudgetExhausted, TurnBudget } from "../contracts/turn-budget.ts";
import { computeCallUsage, computeSearchCost } from "./cost.ts";

/** The call was not made because it does not fit the turn's budget. */
export class BudgetReached extends ModelError {
  readonly usedUp: BudgetExhausted;

  constructor(usedUp: BudgetExhausted) {
    super("quota", `The budget of ${usedUp.limit} is used up.`, { attempts: 0 });
    this.usedUp = usedUp;
  }
}

/**
 * The length of a reply that a reservation assumes. Replies are rarely longer, and reserving the 128,000 tokens that a
 * model may write would exhaust most budgets at once; a longer reply overshoots the budget by the difference.
 */
const expectedOutput = 8_192;

/** What a search puts into the prompt, about: a dozen pages. */
const foundTokens = 12_000;

/**
 * The same model, with each call reserved in the turn's budget before it and settled after it. Attempts that broke off
 * are charged too, by their prompt and what they streamed: services charge for both.
 */
export function createMeteredModel(options: {
  model: LanguageModel;
  turnBudget: TurnBudget;
  counter: TokenCounter;
}): LanguageModel {
  const { model, turnBudget, counter } = options;
  const { limits } = model;

  /** The tokens that every request of a turn contains, counted once. */
  let fixed: (Pick<ModelRequest, "system" | "tools"> & { tokens: number }) | undefined;
  const estimatePrompt = ({ system, tools, messages }: ModelRequest): number => {
    if (fixed?.system !== system || fixed.tools !== tools)
      fixed = { system, tools, tokens: counter.countFixed(system + JSON.stringify(tools)) };
    return fixed.tokens + counter.countMessages(messages);
  };
  const estimateUsage = (input: number, output: number, searches = 0): Usage => {
    const tokens = { input: input + searches * foundTokens, output, cacheRead: 0, cacheWrite: 0 };
    return computeCallUsage(tokens, limits.price, computeSearchCost(searches, limits));
  };

  return {
    id: model.id,
    limits,
    async *stream(request, signal): AsyncGenerator<ModelEvent, void, undefined> {
      const prompt = estimatePrompt(request);
      const searches = limits.webSearch ? (request.webSearches ?? 0) : 0;
      const { input, output, cost } = estimateUsage(
        prompt,
        Math.min(findOutputLimit(request, limits), expectedOutput),
        searches,
      );
      const reserved = await turnBudget.reserve({ tokens: input + output, cost });
      if (!reserved.ok) throw new BudgetReached(reserved.usedUp);

      let used = noUsage;
      let hasBegun = false;
      let streamed = "";
      const attemptEnds = () => {
        used = addUsage(
          used,
          // What was streamed comes after the searches.
          hasBegun ? estimateUsage(prompt, counter.count(streamed), searches) : { ...noUsage, calls: 1 },
        );
        hasBegun = false;
        streamed = "";
      };
      let isSettled = false;
      const settle = async (by: string) => {
        isSettled = true;
        await reserved.settle(used, by);
      };
      try {
        for await (const event of model.stream(request, signal)) {
          switch (event.type) {
            case "begun":
              hasBegun = true;
              break;
            case "text":
            case "thinking":
              hasBegun = true;
              streamed += event.delta;
              break;
            case "retry":
            case "fallback":
              attemptEnds();
              break;
            case "done":
              used = addUsage(used, event.usage);
              await settle(event.message.model);
              break;
          }
          yield event;
        }
      } finally {
        if (!isSettled) {
          attemptEnds();
          await settle(model.id);
        }
      }
    },
  };
}
