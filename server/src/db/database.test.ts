import { eachDatabase } from '../testing/databases.ts';
import { transactionContract, valueContract } from './database.contract.ts';

eachDatabase('Transactions', transactionContract);
eachDatabase('Values', valueContract);
