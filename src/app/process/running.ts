/** Something that runs until it is closed. */
export interface Running {
  close(): Promise<void>;
  /** Ends the processes that it has started, when closing cannot be waited for because Redis does not answer. */
  abandon?(): Promise<void>;
}
