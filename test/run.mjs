// Runs test files of all tiers: `npm test` their heart, `npm run test:rest` the others, `npm run
// test:all` both. A file that fails runs once more, alone, when all others are done: if it passes
// then, the closing lines name it as unsteady, and it fails nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createVitest } from 'vitest/node';
import { heart, optionalPrograms, wholeTiers } from './heart.mjs';
import { leftOver } from './support/left-over.mjs';
import ClosingLine from './support/closing-line.mjs';

const [part = '', root = fileURLToPath(new URL('..', import.meta.url))] = process.argv.slice(2);
const PARTS = ['heart', 'rest', 'all'];
/** When more files than these have failed, it was no accident. */
const MOST_RUN_AGAIN = 10;
const CLOSING_MS = 180_000;

if (!PARTS.includes(part)) {
  process.stderr.write(
    `test/run.mjs runs one of ${PARTS.join(', ')}; a tier or a file alone: npx vitest run --project fast, npx vitest run test/…\n`,
  );
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'perdure-run-'));
process.env.TMPDIR = folder;
const closing = new ClosingLine();
const vitest = await createVitest('test', { watch: false, root, reporters: ['default', closing] });
// Interrupted, it still stops the servers that it has started.
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void vitest.close().finally(() => process.exit(1)));
try {
  await vitest.standalone();
  await runPart();
} finally {
  // Not vitest.exit(): after ten seconds of closing it ends the process, before anybody has looked
  // at what is left over.
  const closed = await Promise.race([vitest.close().then(() => true), sleep(CLOSING_MS, false)]);
  if (!closed) closing.notes.push(`the servers of the run were not stopped within ${CLOSING_MS / 1_000} s`);
}
closing.leftOver = leftOver(folder);
rmSync(folder, { recursive: true, force: true });
process.exit(closing.failed > 0 ? 1 : 0);

async function runPart() {
  const all = await vitest.globTestSpecifications();
  const chosen = all.filter((spec) => part === 'all' || isOfHeart(spec) === (part === 'heart'));
  const missing = part === 'heart' ? optionalPrograms.filter(({ isThere }) => !isThere()) : [];
  const runnable = chosen.filter((spec) => !missing.some(({ isUsedBy }) => isUsedBy(tierOf(spec), fileOf(spec))));
  await vitest.runTestSpecifications(runnable, true);
  const failed = runnable.filter((spec) => closing.hasFailed(spec.taskId));
  if (failed.length <= MOST_RUN_AGAIN) for (const spec of failed) await vitest.runTestSpecifications([spec]);
  closing.notes.push(...missing.map(({ leftOut }) => `left out: ${leftOut}`));
  if (part === 'heart') closing.notes.push(describeRest(all.filter((spec) => !isOfHeart(spec))));
}

function isOfHeart(spec) {
  const tier = tierOf(spec);
  return wholeTiers.includes(tier) || (heart[tier] ?? []).includes(fileOf(spec));
}

function fileOf({ moduleId }) {
  return relative(root, moduleId);
}

function tierOf({ project }) {
  return project.name;
}

function describeRest(specs) {
  const tiers = [...new Set(specs.map(tierOf))];
  const counts = tiers.map((tier) => `${tier} ${specs.filter((spec) => tierOf(spec) === tier).length}`);
  return `left out: ${specs.length} files that take longer (${counts.join(', ')}); to run them: npm run test:rest`;
}
