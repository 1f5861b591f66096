// What a failed call to a Temporal server means, whether the SDK wrapped the failure or not.
import { isGrpcServiceError } from '@temporalio/client';
import { reasonOf } from './setup-problem.ts';

/** The gRPC status codes that are decided on here. */
export const GRPC = {
  invalidArgument: 3,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unimplemented: 12,
  unauthenticated: 16,
} as const;

export type GrpcFailure = {
  /** Undefined when the failure did not come from the server. */
  readonly code: number | undefined;
  /** One line. */
  readonly why: string;
};

export function grpcFailure(error: unknown): GrpcFailure {
  const inner = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (isGrpcServiceError(inner))
    return { code: inner.code, why: inner.details.split('\n', 1)[0] || `code ${inner.code}` };
  return { code: undefined, why: reasonOf(inner) };
}
