import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

/**
 * Comes after vitest's own reporter and ends the output with `N passed, N failed, N skipped`, after lists of
 * what passed only at a second try and of what was skipped and why. With CI set, where everything that a test may
 * need is installed, a skipped test is a failure.
 */
export default class ClosingLine implements Reporter {
  private vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === "passed").length;
    const skipped = tests.flatMap((test) => this.describeSkipped(test) ?? []);
    // A file or a group that broke outside of its tests counts as one failure, so that 0 always means success.
    const groups = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const broken = groups.filter((group) => group.errors().length > 0).length;
    const failed =
      tests.filter((test) => test.result().state === "failed").length + broken + unhandled.length;

    const flaky = tests.filter((test) => test.diagnostic()?.flaky).map((test) => `second try: ${name(test)}`);
    const lines = [...flaky, ...skipped, `${passed} passed, ${failed} failed, ${skipped.length} skipped`];
    if (skipped.length > 0 && process.env["CI"]) {
      process.exitCode = 1;
      lines.unshift("Nothing may be skipped where CI is set. Install what these tests miss:");
    }
    this.vitest?.logger.log(lines.join("\n"));
  }

  private describeSkipped(test: TestCase): string | undefined {
    const result = test.result();
    if (result.state !== "skipped") return undefined;
    // Left out on purpose by `npm test -- -t <pattern>`.
    if (this.vitest?.config.testNamePattern && result.note === undefined) return undefined;
    // A group that is left out as a whole tells the reason in its name.
    const note = result.note ?? (name(test).includes("(skipped: ") ? undefined : "no reason given");
    return `skipped: ${name(test)}${note ? `: ${note}` : ""}`;
  }
}

function name(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}
