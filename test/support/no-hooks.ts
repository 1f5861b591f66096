// What a worker without hooks has.
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';
import type { HookRunner } from '../../activities/hooks/hooks.ts';

const create = (): HookRunner => createHookRunner({}, { env: {}, folder: '/nowhere' });

export const noHooks = create();

/** The same, with other answers to some questions. */
export const noHooksBut = (answers: Partial<HookRunner>): HookRunner => Object.assign(create(), answers);
