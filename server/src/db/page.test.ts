import { eachDatabase } from '../testing/databases.ts';
import { pageContract } from './page.contract.ts';

eachDatabase('Pages', pageContract);
