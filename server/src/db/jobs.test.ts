import { eachDatabase } from '../testing/databases.ts';
import { jobsContract } from './jobs.contract.ts';

eachDatabase('Jobs', jobsContract);
