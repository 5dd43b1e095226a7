import type { Speaker } from "../../agent/messages.ts";
import type { When } from "../../agent/schedule-store.ts";

/**
 * What is planned in a thread: a hash in its slot, which expires with its session. It is the truth; the clock
 * only ticks. So a schedule is stored after its clock was set, and cancelled by removing it here: a clock that
 * ticks for nothing removes itself.
 */
export interface StoredSchedule {
  id: string;
  task: string;
  when: When;
  author: Speaker;
}
