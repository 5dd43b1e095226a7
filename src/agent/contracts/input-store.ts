import type { InputAnswer, InputRequest } from "../server-input.ts";

/** Where what servers have asked people is kept, for all processes; each entry for one person. */
export interface InputStore {
  keep(person: string, id: string, request: InputRequest): Promise<void>;
  find(person: string, id: string): Promise<InputRequest | undefined>;
  /** For the next time that the server asks the same of that person's call. */
  answer(person: string, id: string, answer: InputAnswer): Promise<void>;
  /** Once. */
  take(person: string, id: string): Promise<InputAnswer | undefined>;
}
