import type { AgentEvent } from "../agent/events.ts";
import type { TurnDisplay } from "../queue/turns/contracts.ts";

/**
 * The same display, with events shown behind the loop: as soon as it waits for something, and before anything else is
 * asked of the display. What is rendered costs a step no time while the step's next write is on its way to Redis.
 *
 * @param onError is told what an event could not be shown for; the turn goes on
 */
export function showBehind(display: TurnDisplay, onError: (error: unknown) => void): TurnDisplay {
  const waiting: AgentEvent[] = [];
  let immediate: NodeJS.Immediate | undefined;

  const catchUp = () => {
    clearImmediate(immediate);
    immediate = undefined;
    for (const event of waiting.splice(0)) {
      try {
        display.event(event);
      } catch (error) {
        onError(error);
      }
    }
  };
  const caughtUp =
    <Args extends unknown[], Result>(ask: (...args: Args) => Result) =>
    (...args: Args): Result => {
      catchUp();
      return ask(...args);
    };

  return {
    event(event) {
      waiting.push(event);
      immediate ??= setImmediate(catchUp);
    },
    took: caughtUp((messages) => display.took(messages)),
    question: caughtUp((question, call) => display.question(question, call)),
    settled: caughtUp((question, call, decision) => display.settled(question, call, decision)),
    continued: caughtUp((paused, by) => display.continued(paused, by)),
    waiting: caughtUp(() => display.waiting()),
    closing: caughtUp((receipt) => display.closing(receipt)),
    interrupted: caughtUp(() => display.interrupted()),
    close: caughtUp(() => display.close()),
    ended: caughtUp((receipt) => display.ended(receipt)),
  };
}
