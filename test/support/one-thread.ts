// A worker that a test starts in its own process runs workflows in the main thread: a thread for
// each, with the SDK loaded once more, took a third of these tiers. Workers that are processes of
// their own have their thread, as in the product.
import { ONE_THREAD } from './worker-process.ts';

Object.assign(process.env, ONE_THREAD);
