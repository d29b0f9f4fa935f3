-- MySQL dump 10.13  Distrib 8.0.33, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
DROP TABLE IF EXISTS `order_line`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `order_line` (
  `order_id` int unsigned NOT NULL,
  `line` smallint NOT NULL,
  `sku` char(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `price` decimal(10,2) NOT NULL DEFAULT '0.00',
  `note` varchar(200) COLLATE utf8mb4_unicode_ci DEFAULT NULL COMMENT 'a note, NOT NULL; (maybe)',
  `doubled` decimal(11,2) GENERATED ALWAYS AS ((`price` * 2)) STORED,
  PRIMARY KEY (`order_id`,`line`),
  KEY `by_sku` (`sku`(4)),
  CONSTRAINT `of_order` FOREIGN KEY (`order_id`) REFERENCES `orders` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
DROP TABLE IF EXISTS `orders`;
CREATE TABLE `orders` (
  `id` int unsigned NOT NULL AUTO_INCREMENT,
  `customer` int DEFAULT NULL,
  `state` enum('open','it''s paid','sent') NOT NULL DEFAULT 'open',
  `flags` set('gift','urgent') DEFAULT NULL,
  `is_new` tinyint(1) NOT NULL DEFAULT '1',
  `weight` double DEFAULT NULL,
  `placed` datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  `extra` json DEFAULT NULL,
  `more` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL CHECK (json_valid(`more`)),
  `rank` int NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB AUTO_INCREMENT=60001 DEFAULT CHARSET=utf8mb4;
CREATE TABLE `customers` (
  `id` bigint NOT NULL,
  `email` varchar(80) NOT NULL,
  `referrer` bigint DEFAULT NULL,
  `joined` timestamp NULL DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `email` (`email`),
  KEY `referrer` (`referrer`),
  CONSTRAINT `r` FOREIGN KEY (`referrer`) REFERENCES `customers` (`id`)
) ENGINE=InnoDB;
CREATE TABLE `order_tag` (
  `order_id` int unsigned NOT NULL,
  `tag` tinyint NOT NULL,
  UNIQUE KEY `both` (`order_id`,`tag`),
  CONSTRAINT `o` FOREIGN KEY (`order_id`) REFERENCES `orders` (`id`),
  CONSTRAINT `t` FOREIGN KEY (`tag`) REFERENCES `tag` (`id`)
) ENGINE=InnoDB;
CREATE TABLE `tag` (
  `id` tinyint NOT NULL AUTO_INCREMENT,
  `name` varchar(2) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY (`name`)
) ENGINE=InnoDB AUTO_INCREMENT=2000000000;
CREATE TABLE `visit` (
  `id` int NOT NULL AUTO_INCREMENT,
  `day` date NOT NULL,
  PRIMARY KEY (`id`,`day`)
) ENGINE=InnoDB AUTO_INCREMENT=500
/*!50100 PARTITION BY HASH (`id`)
PARTITIONS 4 */;
CREATE TABLE `place` (
  `id` int NOT NULL,
  `at` point NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB;
CREATE TABLE `odd name` (`a` int);
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT ON orders FOR EACH ROW BEGIN
  INSERT INTO `odd name` VALUES (1);
END */;
