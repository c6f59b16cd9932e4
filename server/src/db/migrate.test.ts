import { eachDatabase } from '../testing/databases.ts';
import { migrationContract } from './migrate.contract.ts';

eachDatabase('Migrations', migrationContract);
