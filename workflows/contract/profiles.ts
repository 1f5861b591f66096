// The times after which a session, a worker or the server counts as lost. `machine` is measured for
// one machine, where a call to the server is cheap and a dead worker is noticed at once; `fleet` is
// for many workers, where each heartbeat is a write to a server that they share.

export type Profile = 'machine' | 'fleet';

export type Times = {
  /** An attempt without a heartbeat for this long is lost. */
  readonly heartbeatTimeout: '30s' | '15s';
  /** The same for a few writes that an interrupt or a run's end waits for. */
  readonly recordsTimeout: '10s';
  /** How long a workflow task may take before it is given to another worker. */
  readonly workflowTask: '10s';
  /**
   * The most workflow tasks that a worker holds at once: as few as keep its one thread for them
   * busy while others are fetched and told, which takes longer on a server elsewhere.
   */
  readonly workflowTasks: 4 | 10;
  /** How long the server waits for a worker that holds a session in memory. */
  readonly sticky: '1s' | '5s';
  /**
   * The time between two heartbeats, and so the delay of a cancel: L48 leaves tools five seconds.
   */
  readonly throttle: '500ms' | '2s';
};

/**
 * On one machine a heartbeat timeout is the last resort: the next worker sees that the one before
 * is dead.
 */
export const profiles: Readonly<Record<Profile, Times>> = {
  machine: {
    heartbeatTimeout: '30s',
    recordsTimeout: '10s',
    workflowTask: '10s',
    workflowTasks: 4,
    sticky: '1s',
    throttle: '500ms',
  },
  fleet: {
    heartbeatTimeout: '15s',
    recordsTimeout: '10s',
    workflowTask: '10s',
    workflowTasks: 10,
    sticky: '5s',
    throttle: '2s',
  },
};
