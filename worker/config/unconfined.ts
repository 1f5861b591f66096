// Tells whether a person allows commands of agents to run where nothing confines them: by
// --unconfined, by their configuration, or on macOS by an answer that they gave once at a terminal.
// Nothing in a workspace is read here.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { type Env, xdgFolder } from '../../connection/data-folder.ts';
import { foreignWriterProblem } from '../../connection/others-may-write.ts';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import type { SandboxConfig } from './schema-parts.ts';

/** The variable that `--unconfined` stands for. */
export const UNCONFINED_VARIABLE = 'PERDURE_UNCONFINED';

const answerSchema = z.strictObject({ unconfined: z.boolean() });

type Platform = NodeJS.Platform;

/** The flag goes first, then the configuration, then the kept answer. */
export function mayRunUnconfined(
  config: SandboxConfig | undefined,
  env: Env,
  platform: Platform = process.platform,
): boolean {
  return findPermission(config, env, platform) ?? false;
}

/** Returns null where the person has not said anything. */
export function findPermission(
  config: SandboxConfig | undefined,
  env: Env,
  platform: Platform = process.platform,
): boolean | null {
  if (env[UNCONFINED_VARIABLE] === '1') return true;
  return config?.unconfined ?? (platform === 'darwin' ? readKeptAnswer(env) : null);
}

/** Only macOS has no bubblewrap at all: a folder that another system shares says nothing there. */
function readKeptAnswer(env: Env): boolean | null {
  const path = answerFile(env);
  if (foreignWriterProblem(path) !== null) return null;
  const file = readJsonFile(path, answerSchema);
  return file.kind === 'read' ? file.value.unconfined : null;
}

/** Keeps what a person answered, and returns the file, in which they can change it. */
export function keepAnswer(env: Env, unconfined: boolean): string {
  const path = answerFile(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeJsonFile(path, { unconfined }, 'durable');
  return path;
}

/** Lies in the configuration folder, which commands in bubblewrap and file tools do not change. */
function answerFile(env: Env): string {
  return join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'perdure', 'unconfined.json');
}
