/** Whose message a turn works on: calls of servers that take accounts of persons are made with theirs. */
export interface Asker {
  /** `platform:workspace:id`, as the platform says who has written. */
  person: string;
  /** For people and the model. */
  name: string;
  /** Names of other people whose messages the turn works on too. It may grow while the turn runs. */
  others(): readonly string[];
  /** W3C `traceparent` of the message that began the turn, where traces are taken. */
  trace?: string;
}
