// Tests in tiers: `fast` starts no process, `process` does, `server` shares one embedded Temporal
// server, `crash` kills what it started.
import { defineConfig } from 'vitest/config';

/**
 * Test files of a tier share a process: they keep nothing global, and loading the tree for each
 * took a third of the time.
 */
const shared = {
  setupFiles: ['test/support/clean-env.ts', 'test/support/no-proxy.ts'],
  pool: 'forks' as const,
  isolate: false,
};

/** Workers in tests' own processes: see the file. */
const oneThread = 'test/support/one-thread.ts';

export default defineConfig({
  test: {
    // Two cores, and tests that mostly wait for servers and workers.
    maxWorkers: 4,
    reporters: ['default', './test/support/closing-line.mjs'],
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          setupFiles: [...shared.setupFiles, 'test/support/no-processes.ts'],
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/{server,crash,commands,packages,attacks,measured,shared,browser,deploy}/**',
            'test/**/*.process.test.ts',
          ],
          testTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'process',
          include: ['test/**/*.process.test.ts'],
          testTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'server',
          include: ['test/server/**/*.test.ts'],
          setupFiles: [...shared.setupFiles, oneThread, 'test/support/replay-after-file.ts'],
          provide: { replays: true as const },
          globalSetup: ['test/support/temporal-server.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // Races, scenarios and handovers once more, with no workflow kept between two tasks: each
        // task replays the session from its start.
        test: {
          ...shared,
          name: 'uncached',
          include: ['test/server/{races,scenarios,carried}.test.ts'],
          setupFiles: [...shared.setupFiles, oneThread],
          globalSetup: ['test/support/temporal-server.ts'],
          provide: { maxCachedWorkflows: 0 },
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'commands',
          include: ['test/commands/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'crash',
          include: ['test/crash/**/*.test.ts'],
          globalSetup: ['test/support/temporal-server.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // The page in a browser, on live runs: one server, worker and browser for a file.
        test: {
          ...shared,
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'packages',
          include: ['test/packages/**/*.test.ts'],
          setupFiles: ['test/support/clean-env.ts'],
          globalSetup: ['test/support/temporal-server.ts', 'test/support/packed-project.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // A store that many machines share: a real S3 gateway, and a proxy with faults before it.
        test: {
          ...shared,
          name: 'shared',
          include: ['test/shared/**/*.test.ts'],
          setupFiles: [...shared.setupFiles, oneThread],
          globalSetup: ['test/support/temporal-server.ts', 'test/support/s3-gateway.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // What is deployed: the image's and the compose file, the chart, the units of systemd.
        test: {
          ...shared,
          name: 'deploy',
          include: ['test/deploy/**/*.test.ts'],
          globalSetup: ['test/support/temporal-server.ts', 'test/support/s3-gateway.ts', 'test/support/helm.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // What an attacker, a fault or a foreign server once broke: each case is kept for good.
        test: {
          ...shared,
          name: 'attacks',
          include: ['test/attacks/**/*.test.ts'],
          setupFiles: [...shared.setupFiles, oneThread],
          globalSetup: ['test/support/temporal-server.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        // Measurements: after everything else, one after the other, each with the machine to
        // itself.
        test: {
          ...shared,
          name: 'measured',
          include: ['test/measured/**/*.test.ts'],
          globalSetup: ['test/support/temporal-server.ts', 'test/support/s3-gateway.ts'],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
