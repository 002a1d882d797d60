-- The frontier leases domains now. A version before this one works without leases from here on, and says
-- so in its log: pause the pipeline while the two are exchanged.
DROP TABLE leases;
