// Prints `N passed, N failed` alone on the last line, after every other reporter has spoken.
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0;
    // A file that does not load, a hook that throws, or an error outside any test is a failure although no test reports it.
    let failed = unhandled.length;
    for (const module of modules) {
      for (const suite of [module, ...module.children.allSuites()]) if (suite.errors().length > 0) failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        if (state === 'failed') failed += 1;
      }
    }
    process.once('exit', () => process.stdout.write(`${passed} passed, ${failed} failed\n`));
  }
}
