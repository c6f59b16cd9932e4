// What is not there may come later, or never: for payments that is an answer, not a failure.
import { AppError } from '../kernel/errors.ts';

export function isMissing(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'not_found';
}

export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
