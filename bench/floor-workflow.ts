// The engine's floors: what a turn costs when it is two activities that do nothing, and what it
// takes to start a child that runs one.
import { executeChild, proxyActivities } from '@temporalio/workflow';

const { nothing } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '1 minute' });

export async function floor(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await nothing();
    await nothing();
  }
}

export async function children(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await executeChild(child);
}

export async function child(): Promise<void> {
  await nothing();
}
