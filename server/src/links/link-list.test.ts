import { eachDatabase } from '../testing/databases.ts';
import { linkListContract } from './link-list.contract.ts';

eachDatabase('Lists of links', linkListContract);
