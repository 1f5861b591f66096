// What a worker without hooks has.
import { hookRunner } from '../../activities/hooks/hook-runner.ts';

export const noHooks = hookRunner({}, { env: {}, folder: '/nowhere' });
