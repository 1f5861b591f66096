// What a worker without hooks has.
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';

export const noHooks = createHookRunner({}, { env: {}, folder: '/nowhere' });
