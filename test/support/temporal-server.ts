// One embedded Temporal server for all tiers of a run that need one: the product's own, on a data
// folder of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { joinServer, type EmbeddedServer } from '../../worker/embedded/join-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    temporalAddress: string;
    /** Of the tier's workers; absent: the product's own. */
    maxCachedWorkflows?: number;
    /** The tier's sessions are replayed after each file. */
    replays?: true;
  }
}

type SharedServer = { tiers: number; readonly embedded: Promise<EmbeddedServer>; readonly root: string };

/** Vitest loads this file once for each tier: what they share is kept where all of them find it. */
const tiersOfThisRun = globalThis as { perdureTestServer?: SharedServer | undefined };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = (tiersOfThisRun.perdureTestServer ??= startServer());
  shared.tiers += 1;
  project.provide('temporalAddress', (await shared.embedded).address);
  return async () => {
    shared.tiers -= 1;
    if (shared.tiers > 0) return;
    tiersOfThisRun.perdureTestServer = undefined;
    await (await shared.embedded).leave();
    rmSync(shared.root, { recursive: true, force: true });
  };
}

function startServer(): SharedServer {
  const root = mkdtempSync(join(tmpdir(), 'perdure-server-'));
  const folder = openDataFolder({ PERDURE_DATA: root });
  const env = process.env;
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const binary = (wanted: string | null) => findBinary({ env, wanted, say });
  return { tiers: 0, root, embedded: joinServer({ folder, role: 'command', worker: false, env, binary, say }) };
}
