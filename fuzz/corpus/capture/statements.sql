USE shop;
DELIMITER //
SELECT 1; SELECT 'a//b'//
BEGIN//
UPDATE t SET a = NULL, b = x'ff' WHERE (a, b) IN ((1, 2), (-3, 'x'))//
SELECT ':p1' FROM `t` WHERE id IN (1,2) AND d > DATE '2026-01-01'//
COMMIT//
SELECT 'no end