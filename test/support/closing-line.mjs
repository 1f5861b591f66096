// Prints `N passed, N failed` alone on the last line, after every other reporter has spoken. Of a
// module that ran more than once the last run counts.
import { relative } from 'node:path';

/** @implements {import('vitest/node').Reporter} */
export default class ClosingLine {
  /** What became of each module the last time it ran, by its id. */
  #results = new Map();
  #everFailed = new Set();
  /** Errors that belong to no module. */
  #unplaced = 0;

  /** Lines that are printed before the last one. */
  notes = [];

  /** Processes that the run has left, a line each: each is a failure. */
  leftOver = [];

  onInit() {
    process.once('exit', () => process.stdout.write(`${this.#lines().join('\n')}\n`));
  }

  #lines() {
    const unsteady = [...this.#results].filter(([id, { failed }]) => failed === 0 && this.#everFailed.has(id));
    const named = unsteady.map(([, { name }]) => `unsteady: ${name} failed, and passed when it ran once more, alone`);
    return [...this.notes, ...named, ...this.leftOver, `${this.#sum('passed')} passed, ${this.failed} failed`];
  }

  get failed() {
    return this.#sum('failed') + this.#unplaced + this.leftOver.length;
  }

  /** `id`: of a module, which is a specification's `taskId`. */
  hasFailed(id) {
    return (this.#results.get(id)?.failed ?? 0) > 0;
  }

  onTestRunEnd(modules, unhandled) {
    for (const module of modules) {
      const strays = unhandled.filter((error) => error?.VITEST_TEST_PATH === module.moduleId).length;
      const { passed, failed } = countTests(module);
      const name = `${module.project.name} ${relative(module.project.config.root, module.moduleId)}`;
      this.#results.set(module.id, { name, passed, failed: failed + strays });
      if (failed + strays > 0) this.#everFailed.add(module.id);
    }
    const paths = new Set(modules.map(({ moduleId }) => moduleId));
    this.#unplaced += unhandled.filter((error) => !paths.has(error?.VITEST_TEST_PATH)).length;
  }

  #sum(which) {
    return [...this.#results.values()].reduce((sum, result) => sum + result[which], 0);
  }
}

/** A file that does not load and a hook that throws are failures although no test reports them. */
function countTests(module) {
  const states = [...module.children.allTests()].map((test) => test.result().state);
  const broken = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0);
  const count = (state) => states.filter((each) => each === state).length;
  return { passed: count('passed'), failed: count('failed') + broken.length };
}
