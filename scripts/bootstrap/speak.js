/** Something that the person has to put right. The message is one sentence that says how. */
export class SetupFailure extends Error {
  /**
   * @param {string} message
   * @param {string} [details] The words of the program that failed.
   */
  constructor(message, details = "") {
    super(message);
    this.details = details;
  }
}

/**
 * Says one line. Not to standard output, which belongs to the program that is started.
 *
 * @param {string} text
 */
export function say(text) {
  process.stderr.write(`heddle: ${text}\n`);
}

/**
 * Does the work; what a person can put right is said as a sentence instead of a stack trace.
 *
 * @param {() => Promise<void>} work
 */
export async function reporting(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    process.stderr.write(error.details);
    say(error.message);
    process.exitCode = 1;
  }
}
